package builtin

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/actorswarm/swarm/tool/tooltest"
)

// BenchmarkBash gives the price of a command that does nothing: the shell, and
// the look for processes left over.
func BenchmarkBash(b *testing.B) {
	k := newKit(b)
	bash := k.tool("Bash")
	call := tooltest.Call(b, bash, in{"command": ":"})
	for b.Loop() {
		if res, err := bash.Run(b.Context(), call); err != nil || res.IsError {
			b.Fatal(res, err)
		}
	}
}

// BenchmarkEdit gives the price of a durable change.
func BenchmarkEdit(b *testing.B) {
	k := newKit(b)
	k.file("f", "a\n")
	k.ok("Read", in{"file_path": "f"})
	edit := k.tool("Edit")
	from, to := "a", "b"
	for b.Loop() {
		res, err := edit.Run(b.Context(), tooltest.Call(b, edit, in{"file_path": "f", "old_string": from, "new_string": to}))
		if err != nil || res.IsError {
			b.Fatal(res, err)
		}
		from, to = to, from
	}
}

// BenchmarkStop gives the time from cancelling a call to its return, for a
// command that ends on SIGTERM and for one that ignores it.
func BenchmarkStop(b *testing.B) {
	for name, command := range map[string]string{
		"willing": "touch up; sleep 987",
		"hostile": "trap '' TERM; setsid sh -c 'sleep 987; true' >/dev/null 2>&1 & touch up; while :; do sleep 1; done",
	} {
		b.Run(name, func(b *testing.B) {
			k := newKit(b)
			bash, up := k.tool("Bash"), filepath.Join(k.dir, "up")
			for b.Loop() {
				b.StopTimer()
				ctx, cancel := context.WithCancel(b.Context())
				done := make(chan error, 1)
				input := call(b, bash, in{"command": command})
				go func() {
					_, err := bash.Run(ctx, input)
					done <- err
				}()
				waitUntil(b, "the command", func() bool { return os.Remove(up) == nil })
				b.StartTimer()
				cancel()
				if err := <-done; err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			k.gone()
		})
	}
}
