package swarm

import (
	"context"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/archive"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/internal/executor"
	"github.com/actorswarm/swarm/mailbox"
)

// forget makes the session know of the process of an agent what the next owner of a
// killed one knows: nothing but its lock. then is called before the process can be
// known again.
func forget(t *testing.T, s *Session, ben mailbox.AgentID, then func()) {
	t.Helper()
	if err := syscall.Kill(s.fleet.Process(ben).PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	s.fleet.Disown(ben, then)
}

// TestAProcessThatNobodyHearsOfIsEndedByItsLock: one that hung when its owner was
// killed is ended by the next owner, for a shutdown, for another process of the
// agent, and at the end of the session.
func TestAProcessThatNobodyHearsOfIsEndedByItsLock(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*Session) error{
		"shutdown": func(s *Session) error {
			d, err := s.Shutdown(t.Context(), "ben", 0)
			if !d.Gone {
				t.Errorf("%+v", d)
			}
			return err
		},
		"close": func(s *Session) error { return s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			s, ben := apartWith(t, "", "  - say: {text: ok}\n", nil)
			coordinatortest.Eventually(t, "it rests", func() bool { return ben.Record().Result == "ok" && !ben.Record().TurnOpen })
			lock := filepath.Join(archive.Dir(s.Info().Path, ben.ID()), "lock")
			if pid, ok := executor.Holder(lock); !ok || pid != s.fleet.Process(ben.ID()).PID {
				t.Errorf("the lock is held by %d, %t", pid, ok)
			}
			forget(t, s, ben.ID(), func() {})
			begun := time.Now()
			if err := end(s); err != nil {
				t.Error(err)
			}
			if executor.Held(lock) || time.Since(begun) > 20*time.Second {
				t.Errorf("after %v the lock is held: %t", time.Since(begun), executor.Held(lock))
			}
		})
	}
}

// TestALivingProcessIsTakenOver by an owner that has only its lock to know of it: it
// goes on, and no other is started.
func TestALivingProcessIsTakenOver(t *testing.T) {
	s, ben := apartWith(t, "", `  - when: {agent: ben, text: again}
    say: {text: here}
  - say: {text: ok}
`, nil)
	coordinatortest.Eventually(t, "it rests", func() bool { return ben.Record().Result == "ok" && !ben.Record().TurnOpen })
	old := s.fleet.Process(ben.ID())
	forget(t, s, ben.ID(), func() {})
	if err := syscall.Kill(old.PID, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	coordinatortest.Eventually(t, "it is known again", func() bool { return s.fleet.Process(ben.ID()) != nil })
	if _, err := s.Send("ben", "again"); err != nil {
		t.Fatal(err)
	}
	coordinatortest.Eventually(t, "it answers", func() bool { return ben.Record().Result == "here" })
	if now := s.fleet.Process(ben.ID()); now.PID != old.PID || ben.Record().Launch != 1 {
		t.Errorf("process %d was followed by %d, launch %d", old.PID, now.PID, ben.Record().Launch)
	}
}

// TestATakenOverProcessTellsWhatItAsks: an observer of the session sees a question
// that was asked under an earlier owner.
func TestATakenOverProcessTellsWhatItAsks(t *testing.T) {
	s, ben := apartWith(t, ", mode: default", `  - when: {agent: ben, text: 'go on'}
    say: {calls: [{tool: Bash, input: {command: touch x}}]}
  - say: {text: ok}
`, func(o *Options) { o.Policy.Attended = true })
	sub := s.Events()
	defer func() { sub.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	asked := func() string {
		t.Helper()
		for {
			e, err := sub.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if q, ok := e.Fact.(event.Asked); ok {
				return q.Question.ID
			}
		}
	}
	if _, err := s.Send("ben", "go on"); err != nil {
		t.Fatal(err)
	}
	first, old := asked(), s.fleet.Process(ben.ID())
	coordinatortest.Eventually(t, "no report is on its way that does not hold the question", func() bool {
		return len(s.fleet.Questions()) > 0
	})
	forget(t, s, ben.ID(), func() {
		sub.Close()
		sub = s.Events() // events before this do not count
	})
	if err := syscall.Kill(old.PID, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if again := asked(); again != first || ben.Record().Launch != 1 { // the next launch would ask anew
		t.Errorf("%s was asked, then %s by launch %d", first, again, ben.Record().Launch)
	}
}
