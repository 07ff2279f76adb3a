// A device plugin as they stand in the field: it serves, dials itself, registers, sends its devices and flips their
// health. It says on standard output what happens to it, one line each.
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
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"interop/dial"
	device "pb/deviceplugin"
	registration "pb/pluginregistration"
)

var (
	door     = flag.String("door", "register", "register: call kubelet.sock; watcher: wait to be asked")
	style    = flag.String("dial", "bare", "bare, passthrough, unix, unix-slashes or authority")
	dir      = flag.String("dir", "/var/lib/kubelet/device-plugins", "directory of the plugin's socket, and of kubelet.sock at the register door")
	endpoint = flag.String("endpoint", "go.sock", "file name of the plugin's socket")
	resource = flag.String("resource", "example.com/go", "extended resource")
	devices  = flag.Int("devices", 3, "number of devices")
	watch    = flag.Bool("watch", false, "come in again when the own socket has gone or kubelet.sock is another one")
	flip     = flag.Duration("flip", 0, "flip the health of the last device each time this has passed; SIGUSR1 does it at once")
)

func say(format string, values ...interface{}) {
	fmt.Printf(format+"\n", values...)
}

// plugin serves both APIs on one socket, as plugins for either door may.
type plugin struct {
	mutex   sync.Mutex
	sick    bool
	changed chan struct{}
	server  *grpc.Server
	// kubelet is the kubelet.sock that the plugin registered with last.
	kubelet os.FileInfo
}

func kubeletSocket() string { return filepath.Join(*dir, "kubelet.sock") }
func ownSocket() string     { return filepath.Join(*dir, *endpoint) }

func (p *plugin) flip() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.sick = !p.sick
	close(p.changed)
	p.changed = make(chan struct{})
}

// list gives the devices as they are now and a channel that closes when they change.
func (p *plugin) list() (*device.ListAndWatchResponse, <-chan struct{}) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	response := &device.ListAndWatchResponse{}
	for number := 0; number < *devices; number++ {
		health := "Healthy"
		if p.sick && number == *devices-1 {
			health = "Unhealthy"
		}
		response.Devices = append(response.Devices, &device.Device{
			ID:       fmt.Sprintf("go-%d", number),
			Health:   health,
			Topology: &device.TopologyInfo{Nodes: []*device.NUMANode{{ID: int64(number % 2)}}},
		})
	}
	return response, p.changed
}

func (p *plugin) GetDevicePluginOptions(context.Context, *device.Empty) (*device.DevicePluginOptions, error) {
	return &device.DevicePluginOptions{GetPreferredAllocationAvailable: true}, nil
}

func (p *plugin) ListAndWatch(_ *device.Empty, stream device.DevicePlugin_ListAndWatchServer) error {
	say("watched")
	for {
		response, changed := p.list()
		if err := stream.Send(response); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-stream.Context().Done():
			say("unwatched")
			return nil
		}
	}
}

func (p *plugin) GetPreferredAllocation(context.Context, *device.PreferredAllocationRequest) (*device.PreferredAllocationResponse, error) {
	return &device.PreferredAllocationResponse{}, nil
}

func (p *plugin) Allocate(_ context.Context, request *device.AllocateRequest) (*device.AllocateResponse, error) {
	response := &device.AllocateResponse{}
	for _, container := range request.ContainerRequests {
		for _, id := range container.DevicesIds {
			var number int
			if _, err := fmt.Sscanf(id, "go-%d", &number); err != nil || number < 0 || number >= *devices {
				return nil, status.Errorf(codes.NotFound, "no device %q", id)
			}
		}
		envs := map[string]string{"GO_DEVICES": strings.Join(container.DevicesIds, ",")}
		response.ContainerResponses = append(response.ContainerResponses, &device.ContainerAllocateResponse{Envs: envs})
	}
	return response, nil
}

func (p *plugin) PreStartContainer(context.Context, *device.PreStartContainerRequest) (*device.PreStartContainerResponse, error) {
	return &device.PreStartContainerResponse{}, nil
}

func (p *plugin) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	say("asked")
	return &registration.PluginInfo{
		Type:              "DevicePlugin",
		Name:              *resource,
		SupportedVersions: []string{"v1beta1"},
	}, nil
}

func (p *plugin) NotifyRegistrationStatus(_ context.Context, status *registration.RegistrationStatus) (*registration.RegistrationStatusResponse, error) {
	if status.PluginRegistered {
		say("registered")
	} else {
		say("refused: %s", status.Error)
	}
	return &registration.RegistrationStatusResponse{}, nil
}

// listen replaces what stands at the plugin's path. A plugin that watches does it in one step: another instance that
// watches, too, would take a path that is free for a moment for its own that has gone.
func listen() (net.Listener, error) {
	if *watch {
		private := filepath.Join(*dir, fmt.Sprintf(".%s.%d", *endpoint, os.Getpid()))
		listener, err := net.Listen("unix", private)
		if err != nil {
			return nil, err
		}
		listener.(*net.UnixListener).SetUnlinkOnClose(false)
		return listener, os.Rename(private, ownSocket())
	}
	if err := os.Remove(ownSocket()); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	return net.Listen("unix", ownSocket())
}

// serve opens the socket anew and returns once the plugin answers on it itself.
func (p *plugin) serve() error {
	if p.server != nil {
		p.server.Stop()
	}
	listener, err := listen()
	if err != nil {
		return err
	}
	p.server = grpc.NewServer()
	device.RegisterDevicePluginServer(p.server, p)
	if *door == "watcher" {
		registration.RegisterRegistrationServer(p.server, p)
	}
	go p.server.Serve(listener)
	itself, err := dial.Socket(*style, ownSocket())
	if err != nil {
		return fmt.Errorf("the plugin cannot reach itself: %v", err)
	}
	say("serving")
	return itself.Close()
}

// register makes the plugin known, without a deadline for the call: none in the field sets one.
func (p *plugin) register() error {
	kubelet, err := os.Stat(kubeletSocket())
	if err != nil {
		return err
	}
	registry, err := dial.Socket(*style, kubeletSocket())
	if err != nil {
		return fmt.Errorf("kubelet.sock cannot be reached: %v", err)
	}
	defer registry.Close()
	_, err = device.NewRegistrationClient(registry).Register(context.Background(), &device.RegisterRequest{
		Version:      "v1beta1",
		Endpoint:     *endpoint,
		ResourceName: *resource,
	})
	if err == nil {
		p.kubelet = kubelet
		say("registered")
	}
	return err
}

func isServing() bool {
	_, err := os.Stat(ownSocket())
	return err == nil
}

// comeIn makes the plugin known; its socket, and with it the devices that are in use, stays where it can.
func (p *plugin) comeIn() error {
	if p.server == nil || !isServing() {
		if err := p.serve(); err != nil {
			return err
		}
	}
	if *door == "watcher" {
		return nil
	}
	return p.register()
}

// isForgotten says whether the registry cannot know the plugin any more.
func (p *plugin) isForgotten() bool {
	if !isServing() {
		return true
	}
	kubelet, err := os.Stat(kubeletSocket())
	return *door == "register" && err == nil && (p.kubelet == nil || !os.SameFile(kubelet, p.kubelet))
}

func main() {
	log.SetFlags(0)
	flag.Parse()
	p := &plugin{changed: make(chan struct{})}
	if err := p.comeIn(); err != nil {
		say("refused: %v", err)
		if !*watch {
			os.Exit(1)
		}
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	var ticks, looks <-chan time.Time
	if *flip > 0 {
		ticks = time.Tick(*flip)
	}
	if *watch {
		looks = time.Tick(time.Second / 5)
	}
	for {
		select {
		case <-signals:
			p.flip()
		case <-ticks:
			p.flip()
		case <-looks:
			if !p.isForgotten() {
				continue
			}
			if err := p.comeIn(); err != nil {
				say("refused: %v", err)
			}
		}
	}
}
