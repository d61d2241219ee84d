package sandbox

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestMetadataStays: what may not be changed keeps its mode, its owner and its times, too;
// what may be changed under edit does not.
func TestMetadataStays(t *testing.T) {
	needs(t, "touch", "chmod", "chgrp")
	ways := map[string]string{
		"mode":        `chmod 640 "$FILE"`,
		"group":       `chgrp 1 "$FILE" || chmod 600 "$FILE"`,
		"times":       `touch -d @1 "$FILE"`,
		"of a link":   `T="${TMPDIR:-/tmp}/t$$-$RANDOM"; mkdir "$T"; ln -s "$FILE" "$T/l"; touch -d @1 "$T/l"`,
		"by a handle": `chmod 640 /dev/fd/9 9<"$FILE"`,
	}
	for machine, m := range machines(t) {
		t.Run(machine, func(t *testing.T) {
			for way, script := range ways {
				l := newLab(t)
				for _, n := range []Name{Inspect, Edit} {
					if m.Enforces(n) != nil {
						continue
					}
					for _, file := range []string{l.home + "/.ssh/id", l.else_ + "/file", l.dir + "/.git/config", l.dir + "/file"} {
						before := metadata(t, file)
						out := l.run(t, m, l.profile(n), "FILE="+file+"; "+script)
						changes := n == Edit && file == l.dir+"/file"
						if after := metadata(t, file); (after != before) != changes {
							t.Errorf("%s under %s: %s was %s, is %s, and it says %s", way, n, file, before, after, out)
						}
					}
				}
				before := metadata(t, l.else_+"/file")
				l.bare("export TMPDIR=" + l.temp + " FILE=" + l.else_ + "/file; " + script)
				if metadata(t, l.else_+"/file") == before {
					t.Errorf("%s changes nothing without a sandbox", way)
				}
			}
		})
	}
}

func metadata(t *testing.T, path string) string {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	st := info.Sys().(*syscall.Stat_t)
	attributes := make([]byte, 256)
	n, err := syscall.Listxattr(path, attributes)
	if err != nil {
		n = 0 // this file system has none
	}
	return strings.ReplaceAll(fmt.Sprintf("%v %d:%d %d %q", info.Mode(), st.Uid, st.Gid, info.ModTime().UnixNano(), attributes[:n]), "\x00", " ")
}
