// Asks a server how it is and what it serves, with the clients that grpc-go brings, over a bare path as grpcurl dialled it.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"google.golang.org/grpc"
	health "google.golang.org/grpc/health/grpc_health_v1"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
)

func must(err error) {
	if err != nil {
		fmt.Println("failed", err)
		os.Exit(1)
	}
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	dial := func(ctx context.Context, path string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	connection, err := grpc.DialContext(ctx, os.Args[1], grpc.WithInsecure(), grpc.WithBlock(), grpc.WithContextDialer(dial))
	must(err)
	answer, err := health.NewHealthClient(connection).Check(ctx, &health.HealthCheckRequest{})
	must(err)
	fmt.Println("health", answer.Status)
	watch, err := health.NewHealthClient(connection).Watch(ctx, &health.HealthCheckRequest{})
	must(err)
	answer, err = watch.Recv()
	must(err)
	fmt.Println("watch", answer.Status)
	talk, err := reflection.NewServerReflectionClient(connection).ServerReflectionInfo(ctx)
	must(err)
	ask := func(request *reflection.ServerReflectionRequest) *reflection.ServerReflectionResponse {
		must(talk.Send(request))
		response, err := talk.Recv()
		must(err)
		return response
	}
	listed := ask(&reflection.ServerReflectionRequest{MessageRequest: &reflection.ServerReflectionRequest_ListServices{}})
	for _, service := range listed.GetListServicesResponse().Service {
		fmt.Println("service", service.Name)
	}
	symbol := &reflection.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "pluginbroker.v1.Admin.Status"}
	found := ask(&reflection.ServerReflectionRequest{MessageRequest: symbol})
	fmt.Println("files", len(found.GetFileDescriptorResponse().FileDescriptorProto))
}
