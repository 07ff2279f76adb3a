// A device plugin that behaves as KubeVirt's generic device plugin does: it watches for the removal of its own socket and
// for nothing else, a handler of ListAndWatch never looks whether its stream is still there, all handlers take health
// changes from one channel, and each closes the same channel when the plugin stops, so that the second one to do so ends
// the process. It says on standard output what happens to it, one line each.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"google.golang.org/grpc"

	"interop/dial"
	device "pb/deviceplugin"
)

var (
	dir      = flag.String("dir", "/var/lib/kubelet/device-plugins", "directory of kubelet.sock and of the plugin's socket")
	endpoint = flag.String("endpoint", "kubevirt-kvm.sock", "file name of the plugin's socket")
	resource = flag.String("resource", "devices.kubevirt.io/kvm", "extended resource")
	devices  = flag.Int("devices", 3, "number of devices")
	pause    = flag.Duration("pause", 200*time.Millisecond, "how long it waits before it starts again")
)

func say(format string, values ...interface{}) {
	fmt.Printf(format+"\n", values...)
}

// instance is one life of the plugin, from its start to the removal of its socket.
type instance struct {
	health       chan string
	done         chan struct{}
	deregistered chan struct{}
}

func (i *instance) list(health string) *device.ListAndWatchResponse {
	response := &device.ListAndWatchResponse{}
	for number := 0; number < *devices; number++ {
		of := "Healthy"
		if number == 0 {
			of = health
		}
		response.Devices = append(response.Devices, &device.Device{ID: fmt.Sprintf("kvm%d", number), Health: of})
	}
	return response
}

func (i *instance) GetDevicePluginOptions(context.Context, *device.Empty) (*device.DevicePluginOptions, error) {
	return &device.DevicePluginOptions{}, nil
}

func (i *instance) ListAndWatch(_ *device.Empty, stream device.DevicePlugin_ListAndWatchServer) error {
	say("watched")
	stream.Send(i.list("Healthy"))
	for running := true; running; {
		select {
		case health := <-i.health:
			// Whether anybody is at the other end is not looked at: a change that is sent into a dead stream is lost.
			stream.Send(i.list(health))
		case <-i.done:
			running = false
		}
	}
	stream.Send(&device.ListAndWatchResponse{})
	close(i.deregistered)
	return nil
}

func (i *instance) GetPreferredAllocation(context.Context, *device.PreferredAllocationRequest) (*device.PreferredAllocationResponse, error) {
	return &device.PreferredAllocationResponse{}, nil
}

func (i *instance) Allocate(_ context.Context, request *device.AllocateRequest) (*device.AllocateResponse, error) {
	response := &device.AllocateResponse{}
	for range request.ContainerRequests {
		response.ContainerResponses = append(response.ContainerResponses, &device.ContainerAllocateResponse{})
	}
	return response, nil
}

func (i *instance) PreStartContainer(context.Context, *device.PreStartContainerRequest) (*device.PreStartContainerResponse, error) {
	return &device.PreStartContainerResponse{}, nil
}

// removals tells each time the plugin's socket was removed. A name that was moved away is another event, and not told.
func removals() (<-chan struct{}, error) {
	watch, err := syscall.InotifyInit()
	if err != nil {
		return nil, err
	}
	if _, err := syscall.InotifyAddWatch(watch, *dir, syscall.IN_DELETE); err != nil {
		return nil, err
	}
	removed := make(chan struct{}, 1)
	go func() {
		buffer := make([]byte, 64*1024)
		for {
			size, err := syscall.Read(watch, buffer)
			if err != nil {
				log.Fatal(err)
			}
			for at := 0; at < size; {
				event := (*syscall.InotifyEvent)(unsafe.Pointer(&buffer[at]))
				name := buffer[at+syscall.SizeofInotifyEvent : at+syscall.SizeofInotifyEvent+int(event.Len)]
				if strings.TrimRight(string(name), "\x00") == *endpoint {
					select {
					case removed <- struct{}{}:
					default:
					}
				}
				at += syscall.SizeofInotifyEvent + int(event.Len)
			}
		}
	}()
	return removed, nil
}

// live serves and registers until the socket is removed, and cleans up after itself.
func (i *instance) live(removed <-chan struct{}, flips <-chan os.Signal) error {
	socket := filepath.Join(*dir, *endpoint)
	os.Remove(socket)
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	select {
	case <-removed: // what it has removed itself just now
	case <-time.After(20 * time.Millisecond):
	}
	server := grpc.NewServer()
	device.RegisterDevicePluginServer(server, i)
	go server.Serve(listener)
	defer i.stop(server)
	registry, err := dial.Socket("bare", filepath.Join(*dir, "kubelet.sock"))
	if err != nil {
		return err
	}
	defer registry.Close()
	_, err = device.NewRegistrationClient(registry).Register(context.Background(), &device.RegisterRequest{
		Version:      "v1beta1",
		Endpoint:     *endpoint,
		ResourceName: *resource,
	})
	if err != nil {
		return err
	}
	say("registered")
	sick := false
	for {
		select {
		case <-removed:
			say("removed")
			return nil
		case <-flips:
			sick = !sick
			health := "Healthy"
			if sick {
				health = "Unhealthy"
			}
			select {
			case i.health <- health:
			case <-time.After(time.Second):
				say("nobody takes health changes")
			}
		}
	}
}

func (i *instance) stop(server *grpc.Server) {
	close(i.done)
	select {
	case <-i.deregistered:
	case <-time.After(time.Second):
	}
	server.Stop()
}

func main() {
	log.SetFlags(0)
	flag.Parse()
	removed, err := removals()
	if err != nil {
		log.Fatal(err)
	}
	flips := make(chan os.Signal, 1)
	signal.Notify(flips, syscall.SIGUSR1)
	for {
		one := &instance{make(chan string), make(chan struct{}), make(chan struct{})}
		if err := one.live(removed, flips); err != nil {
			say("refused: %v", err)
		}
		time.Sleep(*pause)
	}
}
