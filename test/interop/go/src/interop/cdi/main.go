// Does with a CDI name what a container engine does: reads the files of a directory and puts what they say into the
// configuration of a container, which it writes to standard output.
package main

import (
	"encoding/json"
	"flag"
	"log"
	"os"

	"github.com/container-orchestrated-devices/container-device-interface/pkg/cdi"
	oci "github.com/opencontainers/runtime-spec/specs-go"
)

var directory = flag.String("directory", "", "directory of CDI files; the names of devices follow")

func main() {
	log.SetFlags(0)
	flag.Parse()
	registry := cdi.GetRegistry(cdi.WithSpecDirs(*directory), cdi.WithAutoRefresh(false))
	if err := registry.Refresh(); err != nil {
		log.Fatalf("a file is refused: %v", err)
	}
	container := &oci.Spec{}
	if _, err := registry.InjectDevices(container, flag.Args()...); err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(container); err != nil {
		log.Fatal(err)
	}
}
