package archive

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/session"
	"github.com/actorswarm/swarm/team/board"
	"github.com/google/go-cmp/cmp"
)

// write makes a journal with some agents in dir.
func write(t *testing.T, dir string, specs ...agent.Spec) {
	t.Helper()
	store, err := transcript.Open(t.Context(), dir, "s1", transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range specs {
		s.Born = time.Unix(int64(i), 0)
		if _, _, err := store.Create(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

// atRestSession is a session of the user, the lead and ben, in whose process kid lives.
func atRestSession(t *testing.T) session.Info {
	t.Helper()
	info := session.Info{ID: "s1", Path: t.TempDir()}
	write(t, info.Path,
		agent.Spec{ID: agent.UserID, Name: "user", Role: agent.User},
		agent.Spec{ID: agent.LeadID, Role: agent.Lead},
		agent.Spec{ID: "ben-1", Name: "ben", Role: agent.Teammate, Parent: agent.LeadID, Where: agent.InProcess})
	write(t, Dir(info.Path, "ben-1"),
		agent.Spec{ID: "ben-1", Name: "ben", Role: agent.Teammate, Parent: agent.LeadID},
		agent.Spec{ID: "kid-1", Name: "kid", Role: agent.Background, Parent: "ben-1"})
	return info
}

func open(t *testing.T, info session.Info) *Session {
	t.Helper()
	s := New(info, Options{})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestNestedAgentsAreFoundInTheirJournals(t *testing.T) {
	s := open(t, atRestSession(t))
	all, err := s.Agents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var ids []mailbox.AgentID
	for _, a := range all {
		ids = append(ids, a.Record.Spec.ID)
	}
	if diff := cmp.Diff([]mailbox.AgentID{agent.UserID, agent.LeadID, "ben-1", "kid-1"}, ids); diff != "" {
		t.Errorf("the agents (-want +got):\n%s", diff)
	}
	for _, name := range []string{"kid", "@kid", "kid-1", "ben", "team-lead"} {
		if a, err := s.Agent(t.Context(), name); err != nil || !strings.HasPrefix(string(a.Record.Spec.ID), strings.Trim(name, "@team-")) {
			t.Errorf("%s is %s, %v", name, a.Record.Spec.ID, err)
		}
	}
	var unknown *agent.UnknownError
	if _, err := s.Agent(t.Context(), "kidd"); !errors.As(err, &unknown) || !slices.Contains(unknown.Suggestions, "kid") {
		t.Errorf("kidd: %v; want an error that names kid", err)
	}
	if mail, err := s.Inbox(t.Context(), "kid"); err != nil || len(mail) != 0 {
		t.Errorf("kid's inbox is %+v, %v", mail, err)
	}
}

func TestWhatIsSentToASessionAtRestWaitsThere(t *testing.T) {
	info := atRestSession(t)
	for _, to := range []string{"team-lead", "ben", "kid"} {
		s := open(t, info)
		posted, err := s.Send(t.Context(), to, "hello "+to)
		if err != nil || len(posted) != 1 || posted[0].Err != nil {
			t.Fatalf("the message to %s: %+v, %v", to, posted, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, info)
		mail, err := s.Inbox(t.Context(), to)
		if err != nil || len(mail) != 1 || mail[0].Envelope.Body != "hello "+to || mail[0].State() != mailbox.StateAccepted {
			t.Errorf("%s has %+v, %v", to, mail, err)
		}
		if len(mail) > 0 {
			m, err := s.Message(t.Context(), mail[0].Envelope.ID)
			if err != nil || m.Envelope.Body != mail[0].Envelope.Body {
				t.Errorf("the message is %+v, %v", m, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, info)
	lead, err := s.Agent(t.Context(), "lead")
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.Agents(t.Context())
	if err != nil || all[1].Unread != 1 || lead.Record.Spec.ID != all[1].Record.Spec.ID {
		t.Errorf("the lead has %d unread messages, %v; want 1", all[1].Unread, err)
	}
	if _, err := s.Message(t.Context(), "nothing"); !errors.As(err, new(*mailbox.UnknownMessageError)) {
		t.Errorf("an unknown message: %v", err)
	}
}

func TestASessionThatWasNeverBegunTakesNoMail(t *testing.T) {
	info := session.Info{ID: "s1", Path: t.TempDir()}
	write(t, info.Path)
	if _, err := open(t, info).Send(t.Context(), "team-lead", "hello"); !errors.Is(err, ErrNoOutbox) {
		t.Errorf("the error is %v; want %v", err, ErrNoOutbox)
	}
}

func TestASessionInUseIsLocked(t *testing.T) {
	info := atRestSession(t)
	first, second := open(t, info), open(t, info)
	if _, err := first.Agents(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Send(t.Context(), "ben", "hello"); !errors.Is(err, journal.ErrLocked) {
		t.Errorf("a message through another: %v; want that the session is locked", err)
	}
	if _, err := second.Tasks(t.Context()); err != nil {
		t.Errorf("the tasks, which need no journal: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Send(t.Context(), "ben", "hello"); err != nil {
		t.Errorf("a message after the first was closed: %v", err)
	}
}

func TestTasksAreThoseOfTheLastCopy(t *testing.T) {
	info := atRestSession(t)
	for list, subject := range map[string]string{"": "own", "crew/1": "of the crew"} {
		if err := WriteTasks(info, list, []board.Task{{ID: "1", Subject: subject}}); err != nil {
			t.Fatal(err)
		}
		if all, err := ReadTasks(info, list); err != nil || len(all) != 1 || all[0].Subject != subject {
			t.Errorf("list %q has %+v, %v", list, all, err)
		}
	}
	if files, err := filepath.Glob(filepath.Join(info.Path, "tasks*.json")); err != nil || len(files) != 2 {
		t.Errorf("the copies are %s, %v", files, err)
	}
	if all, err := ReadTasks(info, "none"); all != nil || err != nil {
		t.Errorf("a list that nobody has used has %+v, %v", all, err)
	}
	status, err := open(t, info).Team(t.Context(), "")
	if err != nil || len(status.Tasks) != 1 || status.Tasks[0].Subject != "own" {
		t.Errorf("the session's own team is %+v, %v", status, err)
	}
}

func TestAWriterWaitsForAReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		until := func(free time.Duration) func() error {
			return func() error {
				if time.Since(begin) < free {
					return journal.ErrLocked
				}
				return nil
			}
		}
		if err := OpenWhenUnlocked(t.Context(), until(3*time.Second)); err != nil || time.Since(begin) != 3*time.Second {
			t.Errorf("after %v: %v; want the journal after 3s", time.Since(begin), err)
		}
		begin = time.Now()
		if err := OpenWhenUnlocked(t.Context(), until(time.Hour)); !errors.Is(err, journal.ErrLocked) || time.Since(begin) != unlockedWithin {
			t.Errorf("after %v: %v; want the error after %v", time.Since(begin), err, unlockedWithin)
		}
		begin = time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := OpenWhenUnlocked(ctx, until(time.Hour)); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Second {
			t.Errorf("after %v: %v; want the end of the context", time.Since(begin), err)
		}
		other := errors.New("no disk")
		if err := OpenWhenUnlocked(t.Context(), func() error { return other }); !errors.Is(err, other) {
			t.Errorf("another error: %v", err)
		}
	})
}
