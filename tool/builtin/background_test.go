package builtin

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func (k *kit) background() Background {
	k.t.Helper()
	b, ok := k.tool("Bash").(Background)
	if !ok {
		k.t.Fatal("Bash is no Background")
	}
	return b
}

// launch starts a background command and returns it.
func (k *kit) launch(command string) Task {
	k.t.Helper()
	text := k.ok("Bash", in{"command": command, "run_in_background": true})
	list := k.background().List()
	last := list[len(list)-1]
	if !strings.Contains(text, last.ID) || !strings.Contains(text, last.Output) {
		k.t.Errorf("%q names neither %s nor %s", text, last.ID, last.Output)
	}
	return last
}

func (k *kit) task(id string) Task {
	k.t.Helper()
	for _, each := range k.background().List() {
		if each.ID == id {
			return each
		}
	}
	k.t.Fatalf("there is no task %s", id)
	return Task{}
}

// Law: a background command lives until it ends, and its output is in a file
// from the first byte.
func TestABackgroundCommandRunsOn(t *testing.T) {
	ended := make(chan Task, 1)
	k := newKit(t, func(e *Env) { e.OnTask = func(t Task) { ended <- t } })
	task := k.launch("echo started; until [ -e go ]; do sleep 0.01; done; echo over; exit 5")
	if task.State != TaskRunning || task.Started.IsZero() || !task.Ended.IsZero() {
		t.Errorf("the task is %+v", task)
	}
	waitUntil(t, "its output", func() bool { b, err := os.ReadFile(task.Output); return err == nil && string(b) == "started\n" })
	if got := k.ok("Read", in{"file_path": task.Output}); got != "     1\tstarted" {
		t.Errorf("Read shows %q", got)
	}
	k.ok("Bash", in{"command": "touch go"}) // calls go on meanwhile
	got := <-ended
	if got.State != TaskExited || got.ExitCode != 5 || got.Reason != nil || got.Ended.IsZero() {
		t.Errorf("it ended as %+v", got)
	}
	if diff := cmp.Diff(got, k.task(task.ID)); diff != "" {
		t.Error(diff)
	}
	if b, err := os.ReadFile(task.Output); err != nil || string(b) != "started\nover\n" {
		t.Errorf("its output is %q (%v)", b, err)
	}
	if err := k.background().Stop(task.ID); err != nil {
		t.Errorf("stopping an ended command: %v", err)
	}
	k.gone()
}

func TestStopEndsABackgroundCommand(t *testing.T) {
	k := newKit(t)
	one, two := k.launch("setsid sleep 300 & sleep 300"), k.launch("sleep 300")
	var unknown *UnknownTaskError
	if err := k.background().Stop("b0"); !errors.As(err, &unknown) || !strings.Contains(err.Error(), one.ID+", "+two.ID) {
		t.Errorf("an unknown id: %v", err)
	}
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if err := k.background().Stop(one.ID); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	if got := k.task(one.ID); got.State != TaskStopped || got.Reason == nil || got.ExitCode != 143 {
		t.Errorf("the stopped one is %+v", got)
	}
	if got := k.task(two.ID); got.State != TaskRunning {
		t.Errorf("the other one is %+v", got)
	}
	if err := Close(k.tools); err != nil {
		t.Fatal(err)
	}
	k.gone()
}

// Law: a background command lives until Close or the end of Env.Scope.
func TestCloseAndTheEndOfTheScopeEndEverything(t *testing.T) {
	for _, by := range []string{"Close", "scope"} {
		t.Run(by, func(t *testing.T) {
			scope, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan Task, 2)
			k := newKit(t, func(e *Env) { e.Scope = scope; e.OnTask = func(t Task) { ended <- t } })
			k.launch("trap '' TERM; while :; do sleep 1; done")
			k.launch("setsid sh -c 'sleep 300; true' >/dev/null 2>&1 & sleep 300")
			if by == "scope" {
				cancel()
			} else if err := Close(k.tools); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if got := <-ended; got.State != TaskStopped || !errors.Is(got.Reason, ErrClosed) {
					t.Errorf("a task ended as %+v", got)
				}
			}
			k.gone()
			if got := k.refused("Bash", in{"command": "true"}); !strings.Contains(got, ErrClosed.Error()) {
				t.Errorf("a call after the end: %q", got)
			}
			var again sync.WaitGroup
			for range 3 {
				again.Go(func() {
					if err := Close(k.tools); err != nil {
						t.Error(err)
					}
				})
			}
			again.Wait()
		})
	}
}

func TestCloseEndsAForegroundCommandToo(t *testing.T) {
	k := newKit(t)
	done := make(chan string, 1)
	go func() {
		res, err := k.tool("Bash").Run(t.Context(), call(t, k.tool("Bash"), in{"command": "touch up; sleep 300"}))
		if err != nil {
			t.Error(err)
		}
		done <- res.Text
	}()
	waitUntil(t, "the command", func() bool { _, err := os.Stat(k.dir + "/up"); return err == nil })
	if err := Close(k.tools); err != nil {
		t.Fatal(err)
	}
	if got := <-done; !strings.Contains(got, ErrClosed.Error()) {
		t.Errorf("the result is %q", got)
	}
	k.gone()
}

func TestBackgroundNeedsAFolderForItsOutput(t *testing.T) {
	k := newKit(t, func(e *Env) { e.OutputDir = "" })
	k.refused("Bash", in{"command": "true", "run_in_background": true})
}
