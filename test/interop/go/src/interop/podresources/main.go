// Asks who has which devices as exporters do: an old grpc-go that dials a bare path, and takes 4 MiB because nothing else was
// said to it. It says on standard output what it was told.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"sort"
	"strings"

	"interop/dial"
	podresources "pb/podresources"
)

var (
	style  = flag.String("dial", "bare", "bare, passthrough, unix, unix-slashes or authority; exporters dial bare")
	socket = flag.String("socket", "", "path of the PodResources socket")
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
	lister := podresources.NewPodResourcesListerClient(connection)
	listed, err := lister.List(ctx, &podresources.ListPodResourcesRequest{})
	if err != nil {
		log.Fatalf("List: %v", err)
	}
	for _, pod := range listed.PodResources {
		for _, container := range pod.Containers {
			for _, device := range container.Devices {
				fmt.Println("v1", device.ResourceName, strings.Join(device.DeviceIds, " "))
			}
		}
	}
	can, err := lister.GetAllocatableResources(ctx, &podresources.AllocatableResourcesRequest{})
	if err != nil {
		log.Fatalf("GetAllocatableResources: %v", err)
	}
	var ids []string
	for _, device := range can.Devices {
		ids = append(ids, device.DeviceIds...)
	}
	sort.Strings(ids)
	fmt.Println("allocatable", strings.Join(ids, " "))
	_, err = lister.Get(ctx, &podresources.GetPodResourcesRequest{PodName: "nobody", PodNamespace: "none"})
	fmt.Println("get", err)
}
