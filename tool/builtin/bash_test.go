package builtin

import (
	"strings"
	"testing"
)

func TestSmoke(t *testing.T) {
	k := newKit(t)
	t.Log(k.ok("Bash", in{"command": "echo hi; echo err >&2; pwd; env | sort"}))
	t.Log(k.refused("Bash", in{"command": "echo a; exit 3"}))
	t.Log(k.ok("Bash", in{"command": "mkdir sub; cd sub"}))
	if got := k.ok("Bash", in{"command": "pwd"}); !strings.HasSuffix(got, "/sub") {
		t.Error(got)
	}
	t.Log(k.ok("Bash", in{"command": "(setsid sleep 300 >/dev/null 2>&1 &) ; env -i setsid sleep 301 & echo done"}))
	t.Log(k.refused("Bash", in{"command": "sleep 300", "timeout": 200}))
	k.ok("Write", in{"file_path": "a/b.txt", "content": "one\ntwo\nthree\n"})
	t.Log(k.ok("Edit", in{"file_path": "a/b.txt", "old_string": "two", "new_string": "2\n2.5"}))
	t.Log(k.ok("Read", in{"file_path": "a/b.txt"}))
	t.Log(k.ok("Glob", in{"pattern": "**/*.txt"}))
	t.Log(k.ok("Grep", in{"pattern": "t", "output_mode": "content", "-C": 1}))
}
