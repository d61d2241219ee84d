package shellfuzz

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/sandbox"
)

// size is how much a test does: every day, and in a soak.
type size struct {
	judged int // at least, and more until enough were run
	run    int // at least
}

func (s size) orSoak(judged, run int) size {
	if os.Getenv("SWARM_SOAK") != "" {
		return size{judged, run}
	}
	return s
}

// seed returns the seed of the run, which it prints.
func seed(t *testing.T) uint64 {
	t.Helper()
	n := uint64(1)
	if s := os.Getenv("SWARM_FUZZ_SEED"); s != "" {
		var err error
		if n, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("SWARM_FUZZ_SEED: %v", err)
		}
	}
	t.Logf("seed %d", n)
	return n
}

// needEnforced skips the test where the machine cannot hold a command to reading and to
// editing.
func needEnforced(t *testing.T) {
	t.Helper()
	for _, n := range []sandbox.Name{sandbox.Inspect, sandbox.Edit} {
		if err := sandbox.Probe().Enforces(n); err != nil {
			t.Skip(err)
		}
	}
}

func modes() []permission.Mode {
	return []permission.Mode{permission.Default, permission.AcceptEdits, permission.Plan, permission.DontAsk}
}

// inTime reports whether there is time left to end in order.
func inTime(t *testing.T) bool {
	end, bounded := t.Deadline()
	return !bounded || time.Until(end) > time.Minute
}

// tally counts what a run has done.
type tally struct{ judged, allowed, inspected, edited, failed atomic.Int64 }

// TestNothingUnaskedTouchesACanary judges generated commands in each mode, and runs those
// that a mode allows, under the profile of the decision.
func TestNothingUnaskedTouchesACanary(t *testing.T) {
	needEnforced(t)
	t.Parallel()
	todo, of := size{600, 40}.orSoak(1_000_000, 50_000), seed(t)
	var next atomic.Uint64
	var n tally
	started := time.Now()
	var all sync.WaitGroup
	for range 2 {
		w := &worker{world: newWorld(t), seed: of, tally: &n}
		all.Go(func() {
			defer w.runWaiting()
			for (!t.Failed() || n.failed.Load() < 20) && inTime(t) {
				i := next.Add(1)
				if int(i) > todo.judged && n.inspected.Load()+n.edited.Load() >= int64(todo.run) {
					return
				}
				w.judge(i, int(i) > todo.judged || n.inspected.Load()+n.edited.Load() < int64(todo.run))
			}
		})
	}
	all.Wait()
	if n.judged.Load() < int64(todo.judged) || n.inspected.Load()+n.edited.Load() < int64(todo.run) {
		t.Errorf("the time of the test was over before %d were judged and %d run", todo.judged, todo.run)
	}
	t.Logf("%d judged in %d modes each, %d allowed in one of them, %d run under inspect and %d under edit, %d touched a canary; %s",
		n.judged.Load(), len(modes()), n.allowed.Load(), n.inspected.Load(), n.edited.Load(), n.failed.Load(), time.Since(started).Round(time.Second))
}

// numbered is a generated command.
type numbered struct {
	number uint64
	text   string
}

// batch is how many commands run in one sandbox under inspect, where none changes what
// another finds.
const batch = 16

// worker judges and runs commands in a world of its own.
type worker struct {
	*world
	seed    uint64
	tally   *tally
	waiting []numbered // allowed under inspect, and not yet run
}

// judge judges a command in each mode and has it run once for each profile.
func (w *worker) judge(number uint64, run bool) {
	c := numbered{number, newGenerator(w.seed, number, w.names).text()}
	w.tally.judged.Add(1)
	profiles := map[sandbox.Name]bool{}
	for _, m := range modes() {
		d := w.decide(m, c.text)
		if d.Behavior != permission.Allow {
			continue
		}
		if d.Profile != sandbox.Inspect && !(d.Profile == sandbox.Edit && m == permission.AcceptEdits) {
			w.t.Errorf("mode %s allows %q under %s", m, c.text, d.Profile)
		}
		profiles[d.Profile] = true
	}
	if len(profiles) == 0 {
		return
	}
	if w.tally.allowed.Add(1); !run {
		return
	}
	if profiles[sandbox.Edit] {
		w.one(sandbox.Edit, c)
		w.tally.edited.Add(1)
		w.restore()
	}
	if profiles[sandbox.Inspect] {
		w.waiting = append(w.waiting, c)
	}
	if len(w.waiting) >= batch {
		w.runWaiting()
	}
}

// runWaiting runs the commands that wait, again one by one if a canary was touched.
func (w *worker) runWaiting() {
	for len(w.waiting) > 0 {
		var texts []string
		for _, c := range w.waiting {
			texts = append(texts, c.text)
		}
		ran, touched, out := w.run(sandbox.Inspect, texts...)
		if len(touched) > 0 {
			before := w.tally.failed.Load()
			for _, c := range w.waiting[:ran] {
				w.one(sandbox.Inspect, c)
			}
			if w.tally.failed.Load() == before {
				w.tally.failed.Add(1)
				w.t.Errorf("together %q touched %s; they printed %q", texts[:ran], strings.Join(touched, ", "), out)
			}
		}
		w.tally.inspected.Add(int64(ran))
		w.waiting = w.waiting[ran:]
	}
}

func (w *worker) one(name sandbox.Name, c numbered) {
	if _, touched, out := w.run(name, c.text); len(touched) > 0 {
		w.tally.failed.Add(1)
		w.t.Errorf("number %d under %s: %q touched %s; it printed %q", c.number, name, c.text, strings.Join(touched, ", "), out)
	}
}

// TestProfilesHoldUnjudgedText runs generated commands that nobody has judged.
func TestProfilesHoldUnjudgedText(t *testing.T) {
	needEnforced(t)
	t.Parallel()
	todo, of := size{run: 40}.orSoak(0, 10_000), seed(t)
	w := newWorld(t)
	for i := range uint64(todo.run) {
		if !inTime(t) {
			t.Fatalf("the time of the test was over after %d commands", i)
		}
		name := []sandbox.Name{sandbox.Inspect, sandbox.Edit}[i/2%2]
		text := newGenerator(of, i, w.names).list()
		if _, touched, out := w.run(name, text); len(touched) > 0 {
			t.Errorf("number %d under %s: %q touched %s; it printed %q", i, name, text, strings.Join(touched, ", "), out)
		}
		if name == sandbox.Edit {
			w.restore()
		}
	}
}

// TestCanariesAreTouchedWithoutASandbox runs the attacks of the generator free, as a check
// that the tests above can fail.
func TestCanariesAreTouchedWithoutASandbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	of, kinds := seed(t), map[string]int{}
	for i := range uint64(60) {
		_, touched, _ := w.run("", newGenerator(of, i, w.names).attack())
		for _, what := range touched {
			kind, _, _ := strings.Cut(what, " ")
			kinds[kind]++
		}
	}
	t.Logf("of 60 attacks: %v", kinds)
	for _, kind := range []string{kindRead, kindReached, kindWritten} {
		if kinds[kind] == 0 {
			t.Errorf("no attack has %s a canary", kind)
		}
	}
}
