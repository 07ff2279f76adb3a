// Package dial reaches a unix socket in the five ways that Go programs in the field do.
package dial

import (
	"context"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
)

// Patience is how long a dial may take; most plugins allow themselves this much.
const Patience = 5 * time.Second

// withDialer is the older of the two ways to bring a dialer; grpc-go has since deprecated it.
func withDialer() grpc.DialOption {
	return grpc.WithDialer(func(address string, timeout time.Duration) (net.Conn, error) {
		return net.DialTimeout("unix", address, timeout)
	})
}

func withContextDialer() grpc.DialOption {
	return grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", address)
	})
}

// target gives what to dial, and how, for one style.
func target(style, path string) (string, []grpc.DialOption, error) {
	switch style {
	case "bare": // :authority becomes the raw path
		return path, []grpc.DialOption{withDialer()}, nil
	case "passthrough": // :authority becomes the raw path
		return "passthrough:///" + path, []grpc.DialOption{withContextDialer()}, nil
	case "unix": // :authority becomes localhost
		return "unix:" + path, nil, nil
	case "unix-slashes": // :authority becomes localhost
		return "unix://" + path, nil, nil
	case "authority": // :authority is what the program says
		return path, []grpc.DialOption{withContextDialer(), grpc.WithAuthority("registry")}, nil
	default:
		return "", nil, fmt.Errorf("unknown dial style %q", style)
	}
}

// Socket connects to the unix socket at path and waits until the connection stands.
func Socket(style, path string) (*grpc.ClientConn, error) {
	address, options, err := target(style, path)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	return grpc.DialContext(ctx, address, append(options, grpc.WithInsecure(), grpc.WithBlock())...)
}
