package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/tool"
)

// ErrPreempted cuts a step for a message of class control. The turn continues.
var ErrPreempted = errors.New("cut by a control message")

// currentStep is the step that a turn is in.
type currentStep struct {
	mu  sync.Mutex
	cut context.CancelCauseFunc // guarded by mu; nil between steps
}

// Preempt cuts the current step if waits reports that a control message waits: the stream
// is dropped and the calls get results that say so. The next step begins at once, with that
// message. Between steps Preempt does nothing. It may be called from any goroutine. No
// message enters a request while waits runs, so that none cuts the request that carries
// it (TestNoMessageCutsTheRequestThatCarriesIt).
func (t *Turn) Preempt(waits func() bool) {
	t.current.mu.Lock()
	defer t.current.mu.Unlock()
	if t.current.cut != nil && waits() {
		t.current.cut(ErrPreempted)
	}
}

// enter begins a step; leave ends it.
func (s *currentStep) enter(ctx context.Context) (step context.Context, leave func()) {
	step, cut := context.WithCancelCause(ctx)
	s.mu.Lock()
	s.cut = cut
	s.mu.Unlock()
	return step, func() {
		s.mu.Lock()
		s.cut = nil
		s.mu.Unlock()
		cut(nil)
	}
}

// admitUnlessCut records the request of a step, with the messages that it carries, unless
// the step was cut.
func (t *Turn) admitUnlessCut(step context.Context, in transcript.Intake) ([]model.Message, error) {
	t.current.mu.Lock()
	defer t.current.mu.Unlock()
	if err := context.Cause(step); err != nil {
		return nil, err
	}
	return t.Log.Admit(in)
}

func preempted(step context.Context) bool { return errors.Is(context.Cause(step), ErrPreempted) }

// abandonStep gives each open call of a cut step a result: a conversation with an
// unanswered call is not valid.
func (t *Turn) abandonStep() error {
	t.partial = partial{}
	calls, err := t.Log.Calls()
	if err != nil {
		return err
	}
	for _, c := range calls {
		if c.Done {
			continue
		}
		r := tool.Errorf("not run: a control message came first. Read it before you decide about this call.")
		if c.Started {
			r = tool.Errorf("cut off: a control message came while this call ran. It may have taken effect, wholly or in part, or not at all; check before you repeat it.")
		}
		if err := t.finish(c.Call, r, t.specOf(c.Name), 0); err != nil {
			return err
		}
	}
	t.Emit(event.Preempted{})
	return nil
}

// hasMail reports whether a message waits that enters this turn.
func (t *Turn) hasMail() bool { return slices.ContainsFunc(t.Log.Unread(), t.entersTurn) }

// entersTurn reports whether a message may enter in the middle of the turn. An agent
// without a later turn reads every message in this one.
func (t *Turn) entersTurn(e mailbox.Envelope) bool {
	return t.LastTurn || e.EffectiveClass() != mailbox.ClassMail
}

// admissible returns the unread messages that the request of a step may carry, control
// messages first. The first request of a turn may carry all.
func (t *Turn) admissible(d transcript.Draft, step int) []mailbox.Envelope {
	mail := slices.Clone(d.Mail)
	if step > 0 {
		mail = slices.DeleteFunc(mail, func(e mailbox.Envelope) bool { return !t.entersTurn(e) })
	}
	for i := range mail {
		mail[i].Body = t.beginning(mail[i])
	}
	slices.SortStableFunc(mail, func(a, b mailbox.Envelope) int { return rank(a) - rank(b) })
	return mail
}

// beginning returns the body of a message with the place of the rest.
func (t *Turn) beginning(e mailbox.Envelope) string {
	if e.Ref == "" || t.ObjectPath == nil {
		return e.Body
	}
	return fmt.Sprintf("%s\n[these are the first %d of %d bytes; the whole message is in %s]", e.Body, len(e.Body), e.Ref.Size(), t.ObjectPath(e.Ref))
}

func rank(e mailbox.Envelope) int {
	if e.EffectiveClass() == mailbox.ClassControl {
		return 0
	}
	return 1
}
