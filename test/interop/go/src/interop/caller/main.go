// Calls Register over and over on one connection and says how each call ended, with the waiting time that the answer
// carries as this implementation of gRPC decodes it: "OK", or "CODE retry-after-ms=N MESSAGE", one line each.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"

	"github.com/golang/protobuf/ptypes"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"

	"interop/dial"
	device "pb/deviceplugin"
)

var (
	style    = flag.String("dial", "bare", "bare, passthrough, unix, unix-slashes or authority")
	socket   = flag.String("socket", "", "path of kubelet.sock")
	endpoint = flag.String("endpoint", "", "file name of a plugin's socket")
	resource = flag.String("resource", "", "extended resource")
	version  = flag.String("version", "v1beta1", "version of the API")
	times    = flag.Int("times", 1, "number of calls")
)

// retryAfter gives the milliseconds of the RetryInfo among the details of a status, or -1.
func retryAfter(answer *status.Status) int64 {
	for _, detail := range answer.Details() {
		info, ok := detail.(*errdetails.RetryInfo)
		if !ok {
			continue
		}
		wait, err := ptypes.Duration(info.RetryDelay)
		if err != nil {
			log.Fatalf("the delay of the RetryInfo is malformed: %v", err)
		}
		return wait.Milliseconds()
	}
	return -1
}

func main() {
	log.SetFlags(0)
	flag.Parse()
	connection, err := dial.Socket(*style, *socket)
	if err != nil {
		log.Fatal(err)
	}
	client := device.NewRegistrationClient(connection)
	for call := 0; call < *times; call++ {
		_, err := client.Register(context.Background(), &device.RegisterRequest{
			Version:      *version,
			Endpoint:     *endpoint,
			ResourceName: *resource,
		})
		if err == nil {
			fmt.Println("OK")
			continue
		}
		answer := status.Convert(err)
		fmt.Printf("%s retry-after-ms=%d %s\n", answer.Code(), retryAfter(answer), answer.Message())
	}
}
