package builtin

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/actorswarm/swarm/tool"
	"github.com/actorswarm/swarm/tool/tooltest"
)

// cancelled returns a context and the function that cancels it with a cause.
func cancelled(t *testing.T, why string) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(t.Context())
	t.Cleanup(func() { cancel(nil) })
	return ctx, func() { cancel(errors.New(why)) }
}

func call(t testing.TB, of tool.Tool, input in) tool.Call { return tooltest.Call(t, of, input) }

// waitUntil polls for what happens in another process, of which there is no
// other sign.
func waitUntil(t testing.TB, what string, is func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for tick := time.NewTicker(5 * time.Millisecond); ; {
		if is() {
			tick.Stop()
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
