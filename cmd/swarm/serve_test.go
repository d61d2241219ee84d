package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/actorswarm/swarm/internal/cli/view"
)

// served starts a session that runs apart, and ends it after the test.
func (l *lab) served(args ...string) {
	l.Helper()
	end := l.run(append([]string{"serve", "--detach", "--session-id", "one", "--model", "script:s.yaml"}, args...)...)
	if end.code != 0 || end.out != "one\n" {
		l.Fatalf("serve: %+v", end)
	}
	l.Cleanup(func() {
		if l.owner() != 0 {
			l.run("quit", "one")
		}
		if pid := l.owner(); pid != 0 {
			l.Errorf("process %d is left", pid)
		}
	})
}

// owner returns the process that has the session open, 0 for none.
func (l *lab) owner() int {
	l.Helper()
	pid, err := l.holder()
	for limit := time.Now().Add(30 * time.Second); err != nil; pid, err = l.holder() {
		if time.Now().After(limit) { // one that has just taken the lock writes its number into it
			l.Fatal(err)
		}
		runtime.Gosched()
	}
	if status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); runtime.GOOS == "linux" && (err != nil || strings.Contains(string(status), ") Z ")) {
		return 0
	}
	if syscall.Kill(pid, 0) != nil {
		return 0
	}
	return pid
}

func (l *lab) holder() (int, error) {
	l.Helper()
	raw, err := os.ReadFile(l.one(".home/.swarm/projects/*/one/journal/LOCK"))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(raw)))
}

// kill ends the owner of the session without a word, and waits for its end.
func (l *lab) kill() {
	l.Helper()
	pid := l.owner()
	if pid == 0 {
		l.Fatal("nobody runs the session")
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		l.Fatal(err)
	}
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for l.owner() == pid {
		<-again.C
	}
}

// seen is the session as another process sees it.
func (l *lab) seen() map[string]view.AgentRow {
	l.Helper()
	end := l.run("ps", "one", "--format", "json")
	var s struct{ Agents []view.AgentRow }
	if err := json.Unmarshal([]byte(end.out), &s); err != nil {
		l.Fatalf("%v: %+v", err, end)
	}
	all := map[string]view.AgentRow{}
	for _, a := range s.Agents {
		all[a.Name] = a
	}
	return all
}

// untilSeen waits for a state of the session. It asks at intervals: there is
// nothing to wait on while the session changes hands.
func (l *lab) untilSeen(what string, is func(map[string]view.AgentRow) bool) map[string]view.AgentRow {
	l.Helper()
	deadline, again := time.After(30*time.Second), time.NewTicker(50*time.Millisecond)
	defer again.Stop()
	for {
		all := l.seen()
		if is(all) {
			return all
		}
		select {
		case <-again.C:
		case <-deadline:
			l.Fatalf("it is not seen that %s: %+v", what, all)
		}
	}
}

const attaching = "swarm attach one"

func TestTwoTerminalsSeeEverythingAndOnesExitChangesNothing(t *testing.T) {
	t.Parallel()
	l := newConversation(t)
	l.needsTmux()
	l.served("--dangerously-skip-permissions")
	p := openWindow(l, 80, 24, attaching)
	q := openWindow(&lab{T: t, dir: subDir(t, l), env: l.env}, 80, 24, "swarm attach --dir "+l.dir+" one")
	p.until("one · s.yaml")
	q.until("one · s.yaml")
	p.types("start them")
	for _, w := range []*window{p, q} {
		w.until("› start them", "I start four.", "● lead", "● explore-", "● plan-", "1 at rest")
	}
	q.types("@bob are you there?")
	p.until("→ bob: are you there?", "bob: I am here.")
	q.until("sent to bob", "bob: I am here.")
	if n := strings.Count(q.all(), "are you there?"); n != 1 {
		t.Errorf("what was typed stands there %d times:\n%s", n, q.all())
	}
	q.types("/team")
	q.until("team session-one\n    lead ")
	before := l.untilSeen("bob rests", func(all map[string]view.AgentRow) bool {
		return !all["bob"].Running && all["bob"].State == "idle" && all["lead"].Running
	})
	q.keys("C-c")
	q.until("Ctrl-C again leaves; the session goes on")
	q.keys("C-c")
	q.until("session one goes on; come back with: swarm attach one", "exit=0")
	for name, a := range l.seen() {
		if was := before[name]; a.Running != was.Running || a.Turns != was.Turns {
			t.Errorf("%s was %s and is %s", name, was.State, a.State)
		}
	}
	p.keys("Escape")
	p.untilIt("without the foreground", func(s string) bool { return strings.Contains(s, "interrupted") && len(live(s)) == 2 })
	if end := l.run("quit"); end.code != 0 || !strings.Contains(end.out, "session one has ended; go on with: swarm resume one") {
		t.Errorf("quit: %+v", end)
	}
	p.until("session one has ended; go on with: swarm resume one", "exit=0")
}

// subDir is a directory for a second terminal of a test.
func subDir(t *testing.T, l *lab) string {
	t.Helper()
	dir := filepath.Join(l.dir, "other")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Law: another process takes over when the owner dies, and there is only one.
// A terminal that takes a session over has it in a narrower mode, and says so.
func TestATakenOverSessionNamesItsMode(t *testing.T) {
	t.Parallel()
	l := newLab(t, map[string]string{"s.yaml": permitting})
	l.needsTmux()
	l.served("--dangerously-skip-permissions")
	p := openWindow(l, 100, 30, attaching)
	p.until("one · s.yaml · bypassPermissions")
	l.kill()
	p.until("the session goes on in mode default, not in bypassPermissions", "the session continues")
	p.keys("C-d")
	p.until("exit=0")
}

func TestAnAttachedTerminalTakesOverFromADeadOwner(t *testing.T) {
	t.Parallel()
	l := newLab(t, map[string]string{"s.yaml": permitting})
	l.needsTmux()
	l.served()
	p := openWindow(l, 100, 30, attaching)
	q := openWindow(&lab{T: t, dir: subDir(t, l), env: l.env}, 100, 30, "swarm attach --dir "+l.dir+" one")
	p.until("one · s.yaml · default")
	q.until("one · s.yaml · default")
	p.types("ask")
	p.until("? bob asks: ", "touch first", "y yes · n no")
	q.until("? bob asks: ", "touch first")
	for i := range 2 {
		was := l.owner()
		l.kill()
		for _, w := range []*window{p, q} {
			w.untilIt("after the change", func(string) bool {
				return strings.Count(w.all(), "the session continues; commands that were running were cut off") > i
			})
		}
		p.until("? bob asks: ", "touch first")
		q.until("? bob asks: ", "touch first")
		if now := l.owner(); now == 0 || now == was {
			t.Errorf("it was run by process %d and is by %d", was, now)
		}
	}
	q.types("y")
	p.until("? bob asks: Bash touch second")
	p.types("n not today")
	p.until("bob       idle")
	if _, err := os.Stat(filepath.Join(l.dir, "first")); err != nil {
		t.Error(err)
	}
	p.types("@bob what did you see?")
	p.until("bob: bob saw: ", "not today")
	q.until("bob: bob saw: ")
	p.keys("C-d")
	p.until("session one goes on", "exit=0")
}
