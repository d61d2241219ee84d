package builtin

import (
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
