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

// ErrPreempted cuts a step for a message of class control. The turn goes on.
var ErrPreempted = errors.New("cut by a control message")

// stepping is the step that a turn is in.
type stepping struct {
	mu  sync.Mutex
	cut context.CancelCauseFunc // guarded by mu; nil between steps
}

// Preempt cuts the step that runs now if waits says that a message for it waits: its
// stream is dropped and its calls get results that say so. The next step begins at
// once, with the message that is the reason. It does nothing between steps, and may
// be called by any goroutine. While waits runs no message enters a request, so
// that none cuts the request that it is in (TestNoMessageCutsTheRequestThatCarriesIt).
func (t *Turn) Preempt(waits func() bool) {
	t.steps.mu.Lock()
	defer t.steps.mu.Unlock()
	if t.steps.cut != nil && waits() {
		t.steps.cut(ErrPreempted)
	}
}

// enter begins a step, which leave ends.
func (s *stepping) enter(ctx context.Context) (step context.Context, leave func()) {
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

// admitUncut records the request of a step, with the messages that it carries, unless
// something has cut the step.
func (t *Turn) admitUncut(step context.Context, in transcript.Intake) ([]model.Message, error) {
	t.steps.mu.Lock()
	defer t.steps.mu.Unlock()
	if err := context.Cause(step); err != nil {
		return nil, err
	}
	return t.Log.Admit(in)
}

func preempted(step context.Context) bool { return errors.Is(context.Cause(step), ErrPreempted) }

// drop leaves a step that was cut: a conversation with an unanswered call is not
// valid.
func (t *Turn) drop() error {
	t.saying = partial{}
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

// pressed reports whether a message waits that belongs into this turn.
func (t *Turn) pressed() bool { return slices.ContainsFunc(t.Log.Unread(), t.belongs) }

// belongs says whether a message may enter in the middle of the turn. An agent
// that has only this one has no later turn to read it in.
func (t *Turn) belongs(e mailbox.Envelope) bool {
	return t.Only || e.ClassOf() != mailbox.ClassMail
}

// admissible returns what the request of a step may carry of the unread, control
// first. The first request of a turn carries all.
func (t *Turn) admissible(d transcript.Draft, step int) []mailbox.Envelope {
	mail := slices.Clone(d.Mail)
	if step > 0 {
		mail = slices.DeleteFunc(mail, func(e mailbox.Envelope) bool { return !t.belongs(e) })
	}
	for i := range mail {
		mail[i].Body = t.beginning(mail[i])
	}
	slices.SortStableFunc(mail, func(a, b mailbox.Envelope) int { return rank(a) - rank(b) })
	return mail
}

// beginning is the body of a message, with where the rest of it is.
func (t *Turn) beginning(e mailbox.Envelope) string {
	if e.Ref == "" || t.Object == nil {
		return e.Body
	}
	return fmt.Sprintf("%s\n[these are the first %d of %d bytes; the whole message is in %s]", e.Body, len(e.Body), e.Ref.Size(), t.Object(e.Ref))
}

func rank(e mailbox.Envelope) int {
	if e.ClassOf() == mailbox.ClassControl {
		return 0
	}
	return 1
}
