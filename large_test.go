package swarm_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/internal/natsd/natsdtest"
	"github.com/actorswarm/swarm/model"
)

// heaps puts more mail into the box of a program than one message of any server
// holds, each byte of which takes six in JSON.
func heaps(t *testing.T, s *swarm.Session, name string) (sent int) {
	t.Helper()
	text := strings.Repeat("\x01", 60<<10)
	for i := range 20 {
		if _, err := s.Send(name, fmt.Sprint(text, i)); err != nil {
			t.Fatal(err)
		}
	}
	return 20
}

// TestAnAnswerMayBeLargerThanAMessage looks from another process at agents whose
// results no message of NATS could hold.
func TestAnAnswerMayBeLargerThanAMessage(t *testing.T) {
	const crowd, size = 15, 60 << 10
	var calls []model.Block
	for i := range crowd {
		calls = append(calls, coordinatortest.Call(fmt.Sprint("c", i), "Agent", map[string]any{
			"prompt": "talk", "description": "talk", "subagent_type": "general-purpose",
		}))
	}
	m := coordinatortest.By(coordinatortest.Answers{
		agent.LeadName: func(_ context.Context, step int, _ *model.Request) *model.Answer {
			if step == 0 {
				return coordinatortest.Use(calls...)
			}
			return coordinatortest.Say("all have talked")
		},
		"general-purpose": func(context.Context, int, *model.Request) *model.Answer {
			return coordinatortest.Say(strings.Repeat("\x01", size))
		},
	})
	s := sessionIn(t, t.TempDir(), m, swarm.Options{})
	ctx := soon(t)
	_, err := s.Run(ctx, "go")
	ok(t, err)
	all, err := remoteOf(t, s).Agents(ctx)
	ok(t, err)
	whole := 0
	for _, a := range all {
		if len(a.Record.Result) == size {
			whole++
		}
	}
	if whole != crowd {
		t.Errorf("%d results of %d are whole", whole, crowd)
	}
}

// TestAProgramOutsideReadsHeapsOfMail reads it through servers that take messages
// of one and of four MiB.
func TestAProgramOutsideReadsHeapsOfMail(t *testing.T) {
	for name, url := range map[string]func(t *testing.T) string{
		"embedded": func(*testing.T) string { return "" },
		"outside":  func(t *testing.T) string { return natsdtest.Start(t, natsdtest.Options{}).URL },
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := listening(t, swarm.Options{NATS: swarm.NATS{URL: url(t)}})
			bob := joined(t, s, "bob")
			left, last := heaps(t, s, "bob"), ""
			for end := time.Now().Add(30 * time.Second); left > 0; {
				a := bob.ask("read", fmt.Sprintf(`{"last":%q}`, last))
				if a.Error != "" || time.Now().After(end) {
					t.Fatalf("%q; %d messages are left", a.Error, left)
				}
				for _, m := range a.Messages {
					left, last = left-1, string(m.ID)
				}
			}
		})
	}
}
