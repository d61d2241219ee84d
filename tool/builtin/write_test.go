package builtin

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/actorswarm/swarm/tool/tooltest"
)

// Law: nothing is overwritten unseen.
func TestWriteNeedsToHaveSeenAnExistingFile(t *testing.T) {
	k := newKit(t)
	k.file("a", "old\n")
	if got := k.refused("Write", in{"file_path": "a", "content": "new"}); !strings.Contains(got, "Read it before") {
		t.Errorf("an unread file: %q", got)
	}
	k.ok("Read", in{"file_path": "a"})
	k.ok("Write", in{"file_path": "a", "content": "new\n"})
	k.ok("Write", in{"file_path": "a", "content": "newer\n"}) // what it wrote it has seen
	if got := k.content("a"); got != "newer\n" {
		t.Errorf("the file holds %q", got)
	}
	k.file("b", "1\n2\n3\n")
	k.ok("Read", in{"file_path": "b", "limit": 2})
	if got := k.refused("Write", in{"file_path": "b", "content": "x"}); !strings.Contains(got, "only lines 1-2 of the 3") {
		t.Errorf("a partly read file: %q", got)
	}
	k.ok("Read", in{"file_path": "b", "offset": 3})
	k.ok("Write", in{"file_path": "b", "content": "x"})
}

func TestStaleWriterGetsAConflictAndThePresentContent(t *testing.T) {
	k := newKit(t)
	k.file("a", "mine\n")
	k.ok("Read", in{"file_path": "a"})
	k.file("a", "theirs\n")
	got := k.refused("Write", in{"file_path": "a", "content": "over\n"})
	if !strings.Contains(got, "has changed since it was read") || !strings.Contains(got, "1\ttheirs") {
		t.Errorf("the conflict says %q", got)
	}
	if got := k.content("a"); got != "theirs\n" {
		t.Errorf("the file holds %q", got)
	}
	k.ok("Write", in{"file_path": "a", "content": "merged\n"}) // it has seen theirs now
	k.file("a", strings.Repeat("long\n", conflictBytes))
	if got := k.refused("Write", in{"file_path": "a", "content": "over\n"}); !strings.Contains(got, "Read it again") {
		t.Errorf("the conflict over a long file says %.200q", got)
	}
	k.refused("Write", in{"file_path": "a", "content": "over\n"})
}

func TestWriteCreatesFoldersAndKeepsMode(t *testing.T) {
	k := newKit(t)
	got := k.ok("Write", in{"file_path": "x/y/z.txt", "content": "hello\n"})
	if got != "Created x/y/z.txt: 1 line, 6 bytes." {
		t.Errorf("the report is %q", got)
	}
	path := k.file("run.sh", "#!/bin/sh\n")
	if err := os.Chmod(path, 0o751); err != nil {
		t.Fatal(err)
	}
	k.ok("Read", in{"file_path": "run.sh"})
	k.ok("Write", in{"file_path": "run.sh", "content": "#!/bin/bash\n"})
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o751 {
		t.Errorf("the mode is %v (%v), want 0751", info.Mode(), err)
	}
	if names := entries(t, k.dir); len(names) != 2 {
		t.Errorf("the folder holds %v", names)
	}
	k.refused("Write", in{"file_path": "x"})                                // no content
	k.refused("Write", in{"file_path": "", "content": ""})                  // no path
	k.refused("Write", in{"file_path": "run.sh/inside", "content": "x"})    // a file is no folder
	k.refused("Write", in{"file_path": "/proc/swarm-test", "content": "x"}) // not a place for files
}

func entries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func TestLinksAreFollowed(t *testing.T) {
	k := newKit(t)
	target := k.file("real/target", "old\n")
	link := filepath.Join(k.dir, "link")
	dangling := filepath.Join(k.dir, "dangling")
	for from, to := range map[string]string{link: "real/target", dangling: "real/later", filepath.Join(k.dir, "loop"): "loop"} {
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	k.ok("Read", in{"file_path": target})
	k.ok("Write", in{"file_path": "link", "content": "new\n"}) // the same file, so it was read
	k.ok("Edit", in{"file_path": "link", "old_string": "new", "new_string": "newer"})
	k.ok("Write", in{"file_path": "dangling", "content": "made\n"})
	k.refused("Write", in{"file_path": "loop", "content": "x"})
	if k.content("real/target") != "newer\n" || k.content("real/later") != "made\n" {
		t.Errorf("the targets hold %q and %q", k.content("real/target"), k.content("real/later"))
	}
	for _, l := range []string{link, dangling} {
		if info, err := os.Lstat(l); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s is no link any more (%v)", l, err)
		}
	}
}

// Law: a file is whole at every moment.
func TestReadersSeeTheOldOrTheNewContentAndNothingElse(t *testing.T) {
	k := newKit(t)
	content := func(c string) string { return strings.Repeat(c, 1<<16) }
	path := k.file("a", content("0"))
	k.ok("Read", in{"file_path": "a"})
	stop := make(chan struct{})
	var readers sync.WaitGroup
	readers.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			b, err := os.ReadFile(path)
			if err != nil || len(b) != 1<<16 || strings.Count(string(b), string(b[:1])) != len(b) {
				t.Errorf("a reader saw %d bytes of several contents (%v)", len(b), err)
				return
			}
		}
	})
	for i := range 30 {
		k.ok("Write", in{"file_path": "a", "content": content(fmt.Sprint(i % 10))})
	}
	close(stop)
	readers.Wait()
}

func TestWhatAKilledWriterLeftIsCleared(t *testing.T) {
	k := newKit(t)
	k.file(tempName, "half of somethi")
	k.ok("Write", in{"file_path": "a", "content": "x"})
	if names := entries(t, k.dir); len(names) != 1 || names[0] != "a" {
		t.Errorf("the folder holds %v", names)
	}
}

func TestAChangeByAProgramWithoutLocksIsNotLost(t *testing.T) {
	k := newKit(t)
	path := k.file("a", "base\n")
	calls := 0
	err := update(t.Context(), path, func(old []byte, _ bool) ([]byte, error) {
		if calls++; calls == 1 {
			k.file("a", "base\nforeign\n")
		}
		return append(old, "ours\n"...), nil
	})
	if err != nil || k.content("a") != "base\nforeign\nours\n" || calls != 2 {
		t.Errorf("after %d tries the file holds %q (%v)", calls, k.content("a"), err)
	}
	err = update(t.Context(), path, func(old []byte, _ bool) ([]byte, error) {
		calls++
		k.file("a", fmt.Sprint(calls))
		return old, nil
	})
	if err == nil || !strings.Contains(err.Error(), "being changed all the time") {
		t.Errorf("a file that never rests: %v", err)
	}
	if names := entries(t, k.dir); len(names) != 1 {
		t.Errorf("the folder holds %v", names)
	}
}

func TestAHeldLockIsWaitedForUntilTheCallIsCancelled(t *testing.T) {
	k := newKit(t)
	k.file("a", "x")
	holder, err := os.Open(k.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	if err := unix.Flock(int(holder.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := cancelled(t, "stopped by its parent")
	done := make(chan string)
	go func() {
		res, err := k.tool("Write").Run(ctx, tooltest.Call(t, k.tool("Write"), in{"file_path": "b", "content": "x"}))
		done <- fmt.Sprint(res.Text, res.IsError, err)
	}()
	cancel()
	if got := <-done; !strings.Contains(got, "stopped by its parent") {
		t.Errorf("the write says %q", got)
	}
	if err := unix.Flock(int(holder.Fd()), unix.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	k.ok("Write", in{"file_path": "b", "content": "x"})
}
