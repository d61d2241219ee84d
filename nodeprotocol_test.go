package swarm

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox/message"
	"github.com/actorswarm/swarm/team/protocol"
)

// apartWith opens a session that has a teammate ben in a process of its own.
func apartWith(t *testing.T, input, rules string, change func(*Options)) (*Session, *transcript.Transcript) {
	t.Helper()
	s := apart(t, "", `  - when: {agent: lead, step: 0}
    say: {calls: [{tool: Agent, input: {name: ben, description: d, prompt: begin`+input+`}}]}
`+rules, change)
	if err := s.Say("go"); err != nil {
		t.Fatal(err)
	}
	var ben *transcript.Transcript
	coordinatortest.Eventually(t, "ben is there", func() bool {
		var err error
		ben, err = s.roster.Find("ben")
		return err == nil
	})
	return s, ben
}

const planner = `  - when: {agent: ben, text: 'is approved: go ahead'}
    say: {calls: [{tool: Write, input: {file_path: after, content: x}}]}
  - when: {agent: ben, text: 'is not approved'}
    say: {calls: [{tool: Write, input: {file_path: between, content: x}}, {tool: ExitPlanMode, input: {plan: a smaller plan}}]}
  - when: {agent: ben, step: 0}
    say: {calls: [{tool: Write, input: {file_path: before, content: x}}, {tool: ExitPlanMode, input: {plan: a large plan}}]}
  - when: {agent: ben}
    say: {text: 'done: {{join " " (results "Write")}}'}
`

// TestProblem41_PlanGateHoldsInAnotherProcess: a teammate in a process of its own
// writes nothing before one authorised decision with the right id, which it receives
// there; every other is an error and changes nothing.
func TestProblem41_PlanGateHoldsInAnotherProcess(t *testing.T) {
	s, ben := apartWith(t, ", mode: plan", planner+"  - say: {text: ok}\n", nil)
	pending := func() bool {
		l := ben.Record()
		return l.Plan.Phase == protocol.PlanPending && !l.TurnOpen
	}
	coordinatortest.Eventually(t, "the plan is shown", pending)
	p := ben.Record().Plan
	lead, _ := s.agents.Find("lead")
	decide := func(by *transcript.Transcript, id string, approve bool, key string) error {
		return s.agents.DecidePlan(by.ID(), ben.ID(), message.PlanApprovalResponse{RequestID: id, Approve: approve, Feedback: "touch less"}, key)
	}
	wrong := func(what string, got, want error) {
		t.Helper()
		if !errors.Is(got, want) {
			t.Errorf("%s: %v", what, got)
		}
	}
	wrong("forged by the asker", decide(ben, p.ID, true, "1"), protocol.ErrUnauthorized)
	wrong("of another id", decide(lead, "p0", true, "2"), protocol.ErrWrongID)
	if err := decide(lead, p.ID, false, "3"); err != nil {
		t.Fatal(err)
	}
	if err := decide(lead, p.ID, false, "3"); err != nil && !errors.Is(err, protocol.ErrWrongID) { // it may have shown the next one
		t.Errorf("the same word again: %v", err)
	}
	coordinatortest.Eventually(t, "the second plan is shown", func() bool { return ben.Record().Plan.ID != p.ID && pending() })
	wrong("late", decide(lead, p.ID, true, "4"), protocol.ErrWrongID)
	second := ben.Record().Plan.ID
	if err := decide(lead, second, true, "5"); err != nil {
		t.Fatal(err)
	}
	wrong("twice", decide(lead, second, false, "6"), protocol.ErrLate)
	coordinatortest.Eventually(t, "it goes to work", func() bool { return strings.HasPrefix(ben.Record().Result, "done") && !ben.Record().TurnOpen })
	for name, written := range map[string]bool{"before": false, "between": false, "after": true} {
		if _, err := os.Stat(filepath.Join(s.Info().Dir, name)); (err == nil) != written {
			t.Errorf("%s: %v", name, err)
		}
	}
	if mode := ben.Spec().Mode; mode != "bypassPermissions" {
		t.Errorf("its mode is %s", mode)
	}
}

// TestAPlanFromAnotherProcessLiesBeforeTheUser too, who decides like the lead.
func TestAPlanFromAnotherProcessLiesBeforeTheUser(t *testing.T) {
	s, ben := apartWith(t, ", mode: plan", planner+"  - say: {text: ok}\n", func(o *Options) { o.Policy.Attended = true })
	question := func() (q Question, ok bool) {
		for _, q := range s.Questions() {
			if q.ID == ben.Record().Plan.ID {
				return q, true
			}
		}
		return q, false
	}
	coordinatortest.Eventually(t, "the user is asked", func() bool { _, ok := question(); return ok })
	q, _ := question()
	if err := s.Answer(q.ID, Answer{Allow: true}); err != nil {
		t.Fatal(err)
	}
	coordinatortest.Eventually(t, "it goes to work", func() bool { return strings.HasPrefix(ben.Record().Result, "done") })
	if len(s.Questions()) != 0 {
		t.Errorf("still asked: %+v", s.Questions())
	}
	lead, _ := s.agents.Find("lead")
	err := s.agents.DecidePlan(lead.ID(), ben.ID(), message.PlanApprovalResponse{RequestID: q.ID}, "late")
	if !errors.Is(err, protocol.ErrLate) {
		t.Errorf("the lead after the user: %v", err)
	}
}

// TestALeadDecidesAboutAPlanInAnotherProcess by its tool, knowing nothing of
// processes.
func TestALeadDecidesAboutAPlanInAnotherProcess(t *testing.T) {
	s, ben := apartWith(t, ", mode: plan", planner+`  - when: {agent: lead, text: 'asks you to approve its plan'}
    say:
      calls:
        - tool: SendMessage
          input: {to: ben, message: {type: plan_approval_response, request_id: '{{regex "request (p[0-9a-f]+)" (join "" (tail 1 (mail "ben"))) | join ""}}', approve: true}}
  - when: {agent: lead, after: SendMessage}
    say: {text: 'said: {{lastResult "SendMessage"}}'}
  - say: {text: ok}
`, nil)
	coordinatortest.Eventually(t, "it goes to work", func() bool { return strings.HasPrefix(ben.Record().Result, "done") })
	lead, _ := s.store.Get("lead")
	coordinatortest.Eventually(t, "the lead heard", func() bool {
		return strings.Contains(lead.Record().Result, "ok") || strings.Contains(lead.Record().Result, "said")
	})
	if _, err := os.Stat(filepath.Join(s.Info().Dir, "after")); err != nil {
		t.Error(err)
	}
}

// TestAProcessThatIsToPlanBeginsSo whatever the session's owner knows of it.
func TestAProcessThatIsToPlanBeginsSo(t *testing.T) {
	s, ben := apartWith(t, ", mode: plan", planner+"  - say: {text: ok}\n", nil)
	coordinatortest.Eventually(t, "the plan is shown", func() bool { return ben.Record().Plan.Phase == protocol.PlanPending })
	process := s.fleet.Process(ben.ID())
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(process.PID) + "/cmdline")
	if err == nil && !strings.Contains(string(raw), "--plan-mode-required") {
		t.Errorf("its command line is %q", raw)
	}
}

const objector = `  - when: {agent: ben, text: 'asked to end your work', turn: 1}
    say:
      calls:
        - tool: SendMessage
          input: {to: team-lead, message: {type: shutdown_response, request_id: '{{regex "request (q[0-9a-f]+)" .Last | join ""}}', approve: false, reason: half way}}
  - when: {agent: ben, text: 'asked to end your work'}
    say:
      calls:
        - tool: SendMessage
          input: {to: team-lead, message: {type: shutdown_response, request_id: '{{regex "request (q[0-9a-f]+)" .Last | join ""}}', approve: false, reason: again}}
  - when: {agent: ben, after: SendMessage, if: '{{contains "cannot refuse again" (lastResult "SendMessage")}}'}
    say: {stall: true}
  - say: {text: ok}
`

// TestAMemberInAnotherProcessMayObjectOnce to its shutdown; the second request
// ends it, its process, its name, and what it held.
func TestAMemberInAnotherProcessMayObjectOnce(t *testing.T) {
	s, ben := apartWith(t, "", objector, nil)
	coordinatortest.Eventually(t, "it rests", func() bool { return ben.Record().Outcome != "" && !ben.Record().TurnOpen })
	d, err := s.Shutdown(t.Context(), "ben", time.Minute)
	if err != nil || d.Gone || d.Objection != "half way" {
		t.Fatalf("%+v, %v", d, err)
	}
	coordinatortest.Eventually(t, "it rests again", func() bool { return !ben.Record().TurnOpen })
	d, err = s.Shutdown(t.Context(), "ben", 3*time.Second)
	if err != nil || !d.Gone || d.Why != protocol.ShutdownExpired {
		t.Fatalf("%+v, %v", d, err)
	}
	if left := processes(t, s.opts.StateDir); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	if _, err := s.Send("ben", "are you there?"); err == nil {
		t.Error("it can still be written to")
	}
	if s.fleet.Process(ben.ID()) != nil {
		t.Error("its process is still known")
	}
}

// TestAMemberInAnotherProcessFinishesInItsGraceTime, and one that is in the middle
// of something answers at once when it agrees.
func TestAMemberInAnotherProcessFinishesInItsGraceTime(t *testing.T) {
	s, _ := apartWith(t, "", "  - say: {text: ok}\n", nil)
	begun := time.Now()
	d, err := s.Shutdown(t.Context(), "ben", time.Minute)
	if err != nil || !d.Gone || d.Why != protocol.ShutdownFinished || time.Since(begun) > 20*time.Second {
		t.Fatalf("%+v, %v after %v", d, err, time.Since(begun))
	}
	if left := processes(t, s.opts.StateDir); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	for _, m := range mailTo(t, s, "lead") {
		if strings.Contains(m.Envelope.Body, "shut down") {
			t.Errorf("the lead was told of an end that it knows: %+v", m.Envelope)
		}
	}
}

func mailTo(t *testing.T, s *Session, name string) []Trace {
	t.Helper()
	all, err := s.Inbox(name)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestAShutdownIsHeardInTheMiddleOfWork: the request to end cuts the command or the
// answer that a member is in, in the session's process and in one of its own.
func TestAShutdownIsHeardInTheMiddleOfWork(t *testing.T) {
	for where, place := range map[string]agent.Place{"in process": "", "apart": agent.InProcess} {
		for what, say := range map[string]string{"command": "calls: [{tool: Bash, input: {command: sleep 613}}]", "answer": "stall: true"} {
			t.Run(where+" "+what, func(t *testing.T) {
				t.Parallel()
				s, ben := apartWith(t, "", `  - when: {agent: ben, text: 'asked to end your work'}
    say: {text: I come to an end}
  - when: {agent: ben}
    say: {`+say+`}
  - say: {text: ok}
`, func(o *Options) { o.Policy.Where = place })
				busy := map[string]string{"command": "in_tool", "answer": "thinking"}[what]
				coordinatortest.Eventually(t, "it works", func() bool {
					a, err := s.Agent("ben")
					return err == nil && strings.HasPrefix(a.State.Name, busy)
				})
				d, err := s.Shutdown(t.Context(), "ben", 20*time.Second)
				if err != nil || !d.Gone || d.Why != protocol.ShutdownFinished {
					t.Fatalf("%+v, %v", d, err)
				}
				if l := ben.Record(); l.Result != "I come to an end" {
					t.Errorf("%+v", l)
				}
			})
		}
	}
}
