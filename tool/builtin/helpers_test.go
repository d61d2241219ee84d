package builtin

import (
	"context"
	"errors"
	"testing"

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
