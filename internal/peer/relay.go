package peer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/roster"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/message"
	"github.com/actorswarm/swarm/team"
)

// relay sends the mail of one member to its session.
type relay struct {
	service *Service
	session string
	bridged bool
	member  *roster.Member
	retry   chan struct{} // holds one signal that an obstacle is gone
	stuck   bool          // the other session was asked and has not accepted the mail; guarded by Service.mu

	notified map[mailbox.ID]bool // messages whose senders know that they wait
	onDisk   map[mailbox.ID]bool // messages that the other session has on disk
}

func newRelay(a *Service, m *roster.Member) *relay {
	session, bridged, _ := m.Transcript().ID().Peer()
	return &relay{service: a, session: session, bridged: bridged, member: m, retry: make(chan struct{}, 1), notified: map[mailbox.ID]bool{}, onDisk: map[mailbox.ID]bool{}}
}

// The times between attempts of a relay, and the limits for a reply.
const (
	minRetry    = 100 * time.Millisecond
	maxRetry    = 5 * time.Second
	postTimeout = 10 * time.Second

	bridgeTimeout = 3 * time.Second // through a NATS server
)

func (r *relay) run(ctx context.Context) {
	wait := minRetry
	for ctx.Err() == nil {
		coming := r.member.Arrivals()
		mail, err := r.member.Inbox(ctx, maxPending)
		if err != nil {
			r.setStuck() // the member was expelled
			return
		}
		moved, left := r.drain(ctx, mail)
		if moved {
			wait = minRetry
			r.setMoving()
		}
		if !left {
			continue
		}
		r.setStuck()
		select {
		case <-time.After(wait):
			wait = min(2*wait, maxRetry)
		case <-r.retry:
			wait = minRetry
		case <-coming: // it need not wait for those before it that are held
		case <-ctx.Done():
		}
	}
}

// retryNow makes the relay try again at once.
func (r *relay) retryNow() {
	select {
	case r.retry <- struct{}{}:
	default:
	}
}

// drain posts messages in order. A held message does not stop those behind it, because
// the other session has it. moved reports whether a message was acknowledged, left
// whether any remains.
func (r *relay) drain(ctx context.Context, mail []mailbox.Envelope) (moved, left bool) {
	for _, e := range mail {
		switch acknowledged, held := r.deliver(ctx, e); {
		case acknowledged:
			delete(r.notified, e.ID)
			delete(r.onDisk, e.ID)
			moved = true
		case held:
			left = true
		default:
			return moved, true
		}
	}
	return moved, left
}

// deliver posts one message, or asks for its state, and reports whether it is
// acknowledged or held.
func (r *relay) deliver(ctx context.Context, e mailbox.Envelope) (acknowledged, held bool) {
	got, err := r.post(ctx, e)
	r.onDisk[e.ID] = err == nil && got.OnDisk
	if err != nil {
		r.service.options.Logger.Debug("a message waits for another session", "session", r.session, "message", e.ID, "error", err)
		got = Reply{State: Busy}
		if errors.Is(err, errSessionAbsent) {
			got.Reason = err.Error()
		}
	}
	switch got.State {
	case Refused:
		err = errors.Join(r.notify(e, cmp.Or(string(got.End), "rejected"), got.Reason, mailbox.ClassSteer), r.member.Reject(e.ID, mailbox.Cut(got.Reason, 1000)))
	case Taken:
		if got.End != "" { // its sender was notified that it is held
			err = r.notify(e, string(got.End), got.Reason, mailbox.ClassMail)
		}
		err = errors.Join(err, r.member.Read(e.ID))
	default:
		r.notifyWaiting(e, got)
		return false, got.State == Waiting
	}
	if err != nil {
		r.service.options.Logger.Warn("the state of a message to another session could not be recorded", "session", r.session, "message", e.ID, "error", err)
	}
	return err == nil, false
}

// notifyWaiting notifies the sender of a message once that the message waits, and why.
func (r *relay) notifyWaiting(e mailbox.Envelope, got Reply) {
	if got.Reason == "" || r.notified[e.ID] {
		return
	}
	r.notified[e.ID] = true
	if err := r.notify(e, string(Waiting), got.Reason, mailbox.ClassMail); err != nil {
		r.service.options.Logger.Warn("the sender of a message could not be notified that it waits", "session", r.session, "message", e.ID, "error", err)
	}
}

func (r *relay) post(ctx context.Context, e mailbox.Envelope) (Reply, error) {
	if r.bridged {
		if got := r.service.allowlist.check(r); got.State != Taken {
			return got, nil
		}
	}
	in, err := r.message(e)
	if err != nil {
		return Reply{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, postTimeout)
	defer cancel()
	if r.bridged {
		ctx, cancel := context.WithTimeout(ctx, bridgeTimeout) // no signal here reports that the other was killed
		defer cancel()
		return r.service.post(ctx, r.session, in)
	}
	return r.service.options.Post(ctx, r.session, in)
}

// message returns what to post of a message: only its id if the other session has the
// text.
func (r *relay) message(e mailbox.Envelope) (in Message, err error) {
	me := r.service.options.Record.Get()
	in = Message{
		Session: me.ID, Dir: me.Dir, Mode: me.Mode, From: e.FromName, ID: e.ID, Summary: e.Summary, Again: r.onDisk[e.ID],
	}
	if !in.Again {
		in.Text, err = r.service.options.Store.Body(e)
	}
	return in, err
}

var errSessionAbsent = errors.New("no session of this id answers at the NATS server now; the message waits until one does")

// notify sends a receipt to the sender of a message. Its key contains the state, so
// that repetitions are one message.
func (r *relay) notify(e mailbox.Envelope, state, why string, c mailbox.Class) error {
	why = fmt.Sprintf("%s: %s", r.member.Transcript().ID(), mailbox.Cut(why, 1000))
	if e.From.Agent == agent.UserID {
		r.service.options.Warn(fmt.Sprintf("your message %s is %s by %s", e.ID, state, why))
		return nil
	}
	body, err := message.Encode(message.Receipt{MessageID: e.ID, State: mailbox.State(state), Reason: why})
	if err != nil {
		return err
	}
	_, err = r.member.Send(team.Message{
		To: string(e.From.Agent), Text: body, Kind: mailbox.KindReceipt, Class: c, Key: state + " " + string(e.ID),
		Summary: fmt.Sprintf("your message %s is %s", e.ID, state),
	})
	if final := (*actors.FinalError)(nil); errors.As(err, &final) {
		return nil // the sender has ended
	}
	return err
}

func (r *relay) setMoving() { r.setState(false) }
func (r *relay) setStuck()  { r.setState(true) }

func (r *relay) setState(stuck bool) {
	r.service.mu.Lock()
	defer r.service.mu.Unlock()
	r.stuck = stuck
	for c := range r.service.idle {
		close(c)
	}
	clear(r.service.idle)
}
