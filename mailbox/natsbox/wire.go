package natsbox

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/nats-io/nats.go"
)

// wire is the connection of a bus and, if it embeds one, the server.
type wire struct {
	nc     *nats.Conn
	server *natsd.Server
}

func openWire(ctx context.Context, o OpenOptions) (*wire, error) {
	switch {
	case o.URL != "" && o.Listen != "":
		return nil, errors.New("set URL to use the server of another process, or Listen to run one, not both")
	case o.URL != "":
		return dial(o)
	}
	return embed(ctx, o)
}

func dial(o OpenOptions) (*wire, error) {
	trouble := nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		o.OnError(fmt.Errorf("natsbox: connection to %s: %w", o.URL, err))
	})
	if path, ok := strings.CutPrefix(o.URL, "unix:"); ok {
		nc, err := natsd.DialUnix(path, trouble)
		return &wire{nc: nc}, err
	}
	nc, err := nats.Connect(o.URL, trouble, nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
	if err != nil {
		return nil, fmt.Errorf("connect to %s; check that a server runs there: %w", o.URL, err)
	}
	return &wire{nc: nc}, nil
}

func embed(ctx context.Context, o OpenOptions) (w *wire, err error) {
	path, socket := strings.CutPrefix(o.Listen, "unix:")
	if o.Listen != "" && !socket {
		return nil, fmt.Errorf("cannot listen on %q: write unix:/path; for TCP run a NATS server and set URL", o.Listen)
	}
	w = new(wire)
	if w.server, err = natsd.Start(ctx, natsd.Options{StoreDir: filepath.Join(o.Dir, "jetstream")}); err != nil {
		return nil, err
	}
	if socket {
		err = w.server.ServeUnix(path)
	}
	if err == nil {
		w.nc, err = w.server.Conn("bus")
	}
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

// close also ends the connections that the server handed out.
func (w *wire) close() error {
	if w.nc != nil {
		w.nc.Close()
	}
	if w.server != nil {
		return w.server.Stop()
	}
	return nil
}
