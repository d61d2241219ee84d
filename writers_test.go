package swarm_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/archive"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/model"
)

// written is a session whose members ask once for a command each.
func written(state string) swarm.Options {
	m := coordinatortest.By(coordinatortest.Answers{
		agent.LeadName: func(context.Context, int, *model.Request) *model.Answer { return coordinatortest.Say("noted") },
		"general-purpose": func(_ context.Context, step int, r *model.Request) *model.Answer {
			if step > 0 {
				return coordinatortest.Say("done")
			}
			return coordinatortest.Use(coordinatortest.Call("b", "Bash", map[string]any{"command": "./of-" + r.Caller.Agent + " x"}))
		},
	})
	return swarm.Options{
		Dir: state, StateDir: state, Home: state, Mode: "default", Attended: true,
		Getenv: func(string) string { return "" },
		Models: func(name string) (model.Model, string, error) { return m, name, nil },
		Policy: spawn.Policy{MaxAgents: -1, MaxSpawnRate: -1, MaxConcurrent: 1000},
	}
}

// writtenTo runs the session until it is killed or its standard input ends.
func writtenTo(state string) error {
	o := written(state)
	if _, err := swarm.FindSession(state, state, crowdSession); err == nil {
		o.Session = crowdSession
	} else {
		o.NewSession = crowdSession
	}
	ctx := context.Background()
	s, err := swarm.Open(ctx, o)
	if err != nil {
		return err
	}
	if err := errors.Join(s.Begin(), s.Ready(ctx)); err != nil {
		return err
	}
	if _, err := s.TeamManager().Up(ctx, swarm.TeamFile{Name: "crew"}); err != nil {
		return err
	}
	fmt.Println("up")
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, s.Close())
}

// owned is the process that has the session.
type owned struct {
	t     *testing.T
	state string
	cmd   *exec.Cmd
	in    io.Closer
}

func (o *owned) start() {
	o.t.Helper()
	exe, err := os.Executable()
	ok(o.t, err)
	o.cmd = exec.Command(exe)
	o.cmd.Env = append(os.Environ(), roleVar+"=written", stateVar+"="+o.state)
	o.cmd.Stderr = os.Stderr
	o.in, err = o.cmd.StdinPipe()
	ok(o.t, err)
	out, err := o.cmd.StdoutPipe()
	ok(o.t, err)
	ok(o.t, o.cmd.Start())
	if !bufio.NewScanner(out).Scan() {
		o.t.Error("the session does not come up")
	}
}

func (o *owned) kill() {
	o.t.Helper()
	ok(o.t, o.cmd.Process.Kill())
	if err := o.cmd.Wait(); err == nil {
		o.t.Error("it has ended by itself")
	}
}

// writer is a program that gives commands and repeats each until it is accepted.
type writer struct {
	t      *testing.T
	state  string
	name   string
	remote *swarm.Remote
	me     *swarm.RemoteMember
	repeat *atomic.Int64 // commands that were given again
}

// do sends one command, and sends it again while it gets no result.
func (w *writer) do(what string, command func(context.Context) error) {
	ctx, cancel := context.WithTimeout(w.t.Context(), 5*time.Minute)
	defer cancel()
	for before := error(nil); ; {
		err := w.reach(ctx)
		if err == nil {
			once, cancel := context.WithTimeout(ctx, time.Minute)
			err = command(once)
			cancel()
		}
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			w.t.Errorf("%s of %s is not accepted: %v; before: %v", what, w.name, err, before)
			return
		}
		before = err
		w.repeat.Add(1)
		if w.remote != nil {
			w.remote.Close()
			w.remote = nil
		}
		select {
		case <-time.After(20 * time.Millisecond): // nobody may have the session just now
		case <-ctx.Done():
		}
	}
}

func (w *writer) reach(ctx context.Context) error {
	if w.remote != nil {
		return nil
	}
	info, err := swarm.FindSession(w.state, w.state, crowdSession)
	if err != nil {
		w.t.Errorf("session.json: %v", err)
		return err
	}
	if w.remote, err = swarm.Dial(w.state, info); err != nil {
		return err
	}
	if w.me, err = w.remote.Join(ctx, w.name); err != nil {
		w.remote.Close()
		w.remote = nil
	}
	return err
}

// round gives the commands of one round: a member for the roster, which asks, the
// answer for session.json, a change to the task that all change, and a message
// for the journal.
func (w *writer) round(round string, kept *sync.Map) {
	member := w.name + "-" + round
	w.do("a member", func(ctx context.Context) error {
		_, err := w.remote.TeamAdd(ctx, "crew", swarm.TeamMember{Name: member, Prompt: "ask"})
		return err
	})
	w.do("an answer", func(ctx context.Context) error { return w.answer(ctx, member, kept) })
	w.do("a change of the task", func(ctx context.Context) error {
		in, err := json.Marshal(map[string]any{"taskId": "1", "metadata": map[string]any{member: round}})
		if err != nil {
			return err
		}
		res, err := w.me.Task(ctx, "TaskUpdate", in)
		if err == nil && res.IsError {
			err = errors.New(res.Text)
		}
		return err
	})
	w.do("a message", func(ctx context.Context) error {
		_, err := w.me.Send(ctx, swarm.Message{To: agent.LeadName, Text: "note of " + member + ".", Key: member})
		return err
	})
}

// answer waits for the question of a member and allows for ever what it asks for.
func (w *writer) answer(ctx context.Context, member string, kept *sync.Map) error {
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for looks := 0; ; looks++ {
		all, err := w.remote.Questions(ctx)
		if err != nil {
			return errors.Join(err, w.stateOf(member))
		}
		for _, q := range all {
			if q.Agent.Name != member {
				continue
			}
			if err := w.remote.Answer(ctx, q.ID, swarm.Answer{Allow: true, Always: true}); err != nil {
				return err
			}
			kept.Store(q.Rules[0], true)
			return nil
		}
		if looks%20 == 0 { // it is much to ask for
			if done, err := w.hasEnded(ctx, member); done || err != nil {
				return err // an answer counted whose result nobody received
			}
		}
		<-again.C
	}
}

// stateOf describes the state of a member that has not asked, for the report of a failure.
func (w *writer) stateOf(member string) error {
	agents, err := w.remote.Agents(w.t.Context())
	for _, a := range agents {
		if a.Record.Spec.Name == member {
			return fmt.Errorf("%s: %+v", member, a)
		}
	}
	return errors.Join(fmt.Errorf("%s is not there", member), err)
}

func (w *writer) hasEnded(ctx context.Context, member string) (bool, error) {
	agents, err := w.remote.Agents(ctx)
	return slices.ContainsFunc(agents, func(a actors.Status) bool {
		return a.Record.Spec.Name == member && a.Record.Outcome != ""
	}), err
}

// rounds is how many rounds each writer has done.
type rounds struct {
	done []atomic.Int64
	all  atomic.Int64
}

// TestProblem26_NoUpdateOfManyWritersIsLost has 64 programs change the task list,
// the roster, session.json and the journal of one session at once, whose process
// is killed again and again, while somebody reads the files.
func TestProblem26_NoUpdateOfManyWritersIsLost(t *testing.T) {
	const writers = 64
	lasting, every := time.Duration(0), time.Duration(0) // of the whole, and from one kill to the next
	if os.Getenv("SWARM_SOAK") != "" {
		lasting, every = 10*time.Minute, 5*time.Second
	}
	state := t.TempDir()
	o := &owned{t: t, state: state}
	o.start()
	var repeated atomic.Int64
	var kept sync.Map
	maker := &writer{t: t, state: state, name: "maker", repeat: &repeated}
	maker.do("a task", func(ctx context.Context) error {
		_, err := maker.me.Task(ctx, "TaskCreate", json.RawMessage(`{"subject":"what all change"}`))
		return err
	})
	maker.remote.Close()
	reading, stop := context.WithCancel(t.Context())
	var reader, work sync.WaitGroup
	reads := 0
	reader.Go(func() { reads = readAll(reading, t, state) })
	r, begun := &rounds{done: make([]atomic.Int64, writers)}, time.Now()
	for i := range writers {
		w := &writer{t: t, state: state, name: fmt.Sprintf("w%02d", i), repeat: &repeated}
		work.Go(func() {
			for k := 0; k == 0 || time.Since(begun) < lasting; k++ {
				w.round(fmt.Sprint(k), &kept)
				r.done[i].Add(1)
				r.all.Add(1)
			}
			if w.remote != nil {
				w.remote.Close()
			}
		})
	}
	finished := make(chan struct{})
	go func() { work.Wait(); close(finished) }()
	killed := o.killAgain(r, every, finished)
	stop()
	reader.Wait()
	o.kill() // what was accepted is on disk
	t.Logf("%d writers, %d kills in %v, %d commands accepted, %d given again, the files read %d times",
		writers, killed, time.Since(begun).Round(time.Second), 4*r.all.Load(), repeated.Load(), reads)
	if killed < 3 {
		t.Errorf("it was killed %d times, so little is shown", killed)
	}
	checkWritten(t, state, r, &kept)
}

// killAgain kills the session's process and starts it again until all is written:
// each time some has been, and so much time has passed.
func (o *owned) killAgain(r *rounds, every time.Duration, finished <-chan struct{}) (killed int) {
	o.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for last, before := time.Now(), int64(0); ; {
		select {
		case <-tick.C:
		case <-finished:
			return killed
		}
		if time.Since(last) > every && r.all.Load() >= before+int64(len(r.done)/5) || killed == 0 && r.all.Load() > 0 {
			o.kill()
			o.start()
			last, before = time.Now(), r.all.Load()
			killed++
		}
	}
}

// readAll reads the files of the session until ctx ends and returns how often.
func readAll(ctx context.Context, t *testing.T, state string) int {
	n := 0
	for ; ctx.Err() == nil; n++ {
		info, err := swarm.FindSession(state, state, crowdSession)
		if err != nil {
			t.Errorf("session.json: %v", err)
			return n
		}
		if _, err := archive.ReadTasks(info, ""); err != nil {
			t.Errorf("tasks.json: %v", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Millisecond):
		}
	}
	return n
}

func checkWritten(t *testing.T, state string, r *rounds, kept *sync.Map) {
	t.Helper()
	o := written(state)
	o.Session = crowdSession
	s, err := swarm.Open(t.Context(), o)
	ok(t, err)
	defer func() { ok(t, s.Close()) }()
	ok(t, s.Begin())
	rest, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.Quiet(rest); err != nil {
		t.Errorf("it does not come to rest: %v; asked are %+v", err, s.Questions())
	}
	tasks, err := s.Tasks(t.Context())
	ok(t, err)
	status, err := s.Team(t.Context(), "crew")
	ok(t, err)
	members := map[string]int{}
	for _, a := range status.Agents {
		members[a.Record.Spec.Name]++
	}
	heard := strings.Join(conversation(t, s.Info().Path, agent.LeadName), "\n")
	if len(tasks) != 1 || len(tasks[0].Metadata) != int(r.all.Load()) {
		t.Fatalf("%d tasks, %d changes", len(tasks), r.all.Load())
	}
	for i := range r.done {
		for k := range r.done[i].Load() {
			member := fmt.Sprintf("w%02d-%d", i, k)
			if tasks[0].Metadata[member] != fmt.Sprint(k) {
				t.Errorf("the change of %s is lost", member)
			}
			if members[member] != 1 {
				t.Errorf("%s is %d times in the roster", member, members[member])
			}
			if n := strings.Count(heard, "note of "+member+"."); n != 1 {
				t.Errorf("the message of %s is there %d times", member, n)
			}
		}
	}
	granted := map[string]int{}
	for _, rule := range s.Info().Granted {
		granted[rule]++
	}
	rules := int64(0)
	kept.Range(func(rule, _ any) bool {
		if rules++; granted[rule.(string)] != 1 {
			t.Errorf("%s is %d times in session.json", rule, granted[rule.(string)])
		}
		return true
	})
	if rules < r.all.Load()/2 {
		t.Errorf("only %d answers were accepted with a word", rules)
	}
	raw, err := filepath.Glob(filepath.Join(s.Info().Path, "*.tmp*"))
	if err != nil || len(raw) > 0 {
		t.Errorf("left behind: %v, %v", raw, err)
	}
}
