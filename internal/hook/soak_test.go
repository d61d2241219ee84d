package hook

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// wild are commands that behave badly, each with whether it blocks and whether it fails.
// PIDS stands for the file that gets the ids of what they start.
func wild() []struct {
	command         string
	blocked, failed bool
} {
	return []struct {
		command         string
		blocked, failed bool
	}{
		{"true", false, false},
		{"sleep 600", false, true},
		{"trap '' TERM INT HUP; sleep 600 & echo $! >>PIDS; wait", false, true},
		{"head -c 100000000 /dev/zero", false, false},
		{"head -c 20000000 /dev/zero >&2; exit 1", false, true},
		{"for i in 1 2 3 4 5; do sleep 600 & echo $! >>PIDS; done", false, false},
		{"kill -9 $$", false, true},
		{"exit 2", true, true},
		{"exec <&- >&- 2>&-; exit 2", true, true},
		{"cat >/dev/null; echo '{\"decision\":\"block\",\"reason\":3}'", true, false},
		{"/no/such/program", false, true},
		{"exec <&-; echo done", false, false},
	}
}

// TestThousandRunsLoseNothing runs hooks that hang, flood their output, fork and die, many
// at the same time: each has one outcome, nothing is left running, and memory stays bounded.
// The everyday run has 30, the long one 1,000.
func TestThousandRunsLoseNothing(t *testing.T) {
	total := 30
	if os.Getenv("SWARM_SOAK") != "" {
		total = 1000
	}
	pids := filepath.Join(t.TempDir(), "pids")
	all := wild()
	var sets []*Set
	for _, w := range all {
		h := command(strings.ReplaceAll(w.command, "PIDS", pids))
		if strings.Contains(w.command, "600") && !strings.HasPrefix(w.command, "for") {
			h["timeout"] = 0.2
		}
		s, problems := Parse([]File{file("f", "", h)})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		sets = append(sets, s)
	}
	large := strings.Repeat("x", 1<<20) // input that most hooks do not read
	work, outcomes := make(chan int), make([]*Outcome, total)
	var workers sync.WaitGroup
	dir := t.TempDir()
	for range 8 {
		workers.Go(func() {
			for i := range work {
				call := Call{Event: "Stop", Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH")}, Input: map[string]any{"large": large}}
				out := sets[i%len(sets)].Run(t.Context(), call)
				if len(out) == 1 {
					outcomes[i] = &out[0]
				}
			}
		})
	}
	for i := range total {
		work <- i
	}
	close(work)
	workers.Wait()
	var size int
	for i, o := range outcomes {
		w := all[i%len(all)]
		if o == nil {
			t.Errorf("%s: no outcome", w.command)
			continue
		}
		if _, blocked := o.Blocked(); blocked != w.blocked || (o.Failure() != nil) != (w.failed || o.Problem != "") {
			t.Errorf("%s: blocked %v, failure %v", w.command, blocked, o.Failure())
		}
		size = max(size, len(o.Stdout)+len(o.Stderr))
	}
	if size > 2*MaxOutput {
		t.Errorf("an outcome has %d bytes", size)
	}
	clear(outcomes)
	runtime.GC()
	var m runtime.MemStats
	if runtime.ReadMemStats(&m); m.HeapAlloc > 64<<20 {
		t.Errorf("%d bytes are in use", m.HeapAlloc)
	}
	checkGone(t, pids)
}

// checkGone fails if a process of a file of ids is running. The kernel may take a moment to
// end what was killed.
func checkGone(t *testing.T, pids string) {
	t.Helper()
	text, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for field := range strings.FieldsSeq(string(text)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		for running(pid) && ctx.Err() == nil {
			runtime.Gosched()
		}
		if running(pid) {
			t.Errorf("process %d still runs", pid)
		}
	}
}
