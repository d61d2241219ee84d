package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/actorswarm/swarm/internal/cli"
)

func TestAFullDiskOrAReadOnlyOneIsRefusedAtTheStart(t *testing.T) {
	for _, c := range []struct {
		name, options, want string
		flags               uintptr
	}{
		{"full", "size=48k", "no space left on device", 0},
		{"read-only", "", "cannot be written; make it writable or set SWARM_HOME to another", syscall.MS_RDONLY},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, map[string]string{"s.yaml": "rules: [{say: {text: fine}}]"})
			disk := filepath.Join(l.dir, "disk")
			if err := os.Mkdir(disk, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mount("tmpfs", disk, "tmpfs", c.flags, c.options); err != nil {
				t.Skipf("a file system of its own cannot be mounted, which takes root or user namespaces: %v", err)
			}
			t.Cleanup(func() {
				if err := syscall.Unmount(disk, 0); err != nil {
					t.Error(err)
				}
			})
			l.env = append(l.env, "SWARM_HOME="+disk)
			end := l.run("run", "--model", "script:s.yaml", "go")
			if end.code != cli.ExitFailed || end.out != "" || !strings.Contains(end.err, c.want) || strings.Count(end.err, "\n") != 1 {
				t.Errorf("%+v", end)
			}
		})
	}
}
