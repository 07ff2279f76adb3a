// Does with a registration socket what a kubelet's plugin manager does: dial it, ask who is there, tell how it went. It says
// on standard output what it was told: "TYPE NAME ENDPOINT VERSION…", then "notified".
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"strings"

	"interop/dial"
	registration "pb/pluginregistration"
)

var (
	style   = flag.String("dial", "bare", "bare, passthrough, unix, unix-slashes or authority; kubelets dial bare")
	socket  = flag.String("socket", "", "path of the registration socket")
	refusal = flag.String("refuse", "", "tell the plugin that it is refused, with this reason")
)

func main() {
	log.SetFlags(0)
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), dial.Patience)
	defer cancel()
	connection, err := dial.Socket(*style, *socket)
	if err != nil {
		log.Fatal(err)
	}
	plugin := registration.NewRegistrationClient(connection)
	info, err := plugin.GetInfo(ctx, &registration.InfoRequest{})
	if err != nil {
		log.Fatalf("GetInfo: %v", err)
	}
	fmt.Println(info.Type, info.Name, info.Endpoint, strings.Join(info.SupportedVersions, " "))
	status := &registration.RegistrationStatus{PluginRegistered: *refusal == "", Error: *refusal}
	if _, err := plugin.NotifyRegistrationStatus(ctx, status); err != nil {
		log.Fatalf("NotifyRegistrationStatus: %v", err)
	}
	fmt.Println("notified")
}
