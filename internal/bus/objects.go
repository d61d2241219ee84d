package bus

import (
	"context"
	"fmt"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/object/bucket"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/nats-io/nats.go"
)

const (
	objectTimeout = 5 * time.Second  // for one object to be put or got
	sweepInterval = time.Minute      // between sweeps of the bucket
	sweepGrace    = 10 * time.Minute // before an object that nobody needs is removed
)

// objectBucket is the bucket of a session's long messages on its server.
func objectBucket(session string) string { return "OB_" + session }

// ObjectName returns the name, bucket/name, under which the server of a session has the
// whole text of a message with a Ref, until its receiver has read it.
func ObjectName(session string, ref mailbox.Ref) string {
	return objectBucket(session) + "/" + ref.Hash()
}

// objectTransport is a transport with an object store for long bodies: a message is
// published when the bucket has its body, and arrives when the body is on this disk. A
// message that fails in between is sent again, as any message is.
type objectTransport struct {
	mailbox.Transport
	scope   context.Context // of the bus
	store   *transcript.Store
	bucket  *bucket.Bucket
	trouble func(error)
}

func newObjectTransport(scope context.Context, box mailbox.Transport, conn *nats.Conn, o Options) (*objectTransport, error) {
	b, err := bucket.New(conn, objectBucket(o.Session.ID), bucket.Options{Replicas: o.NATS.Replicas})
	return &objectTransport{Transport: box, scope: scope, store: o.Store, bucket: b, trouble: o.OnError}, err
}

// Publish implements mailbox.Transport.
func (o *objectTransport) Publish(e mailbox.Envelope) error {
	if e.Ref != "" {
		err := o.upload(e.Ref)
		switch {
		case err != nil && o.isLocal(e.To.Agent): // which needs no bucket
			o.trouble(err)
		case err != nil:
			return fmt.Errorf("message %s waits until its text is on the server: %w", e.ID, err)
		}
	}
	return o.Transport.Publish(e)
}

// isLocal reports whether an agent lives in this process.
func (o *objectTransport) isLocal(id mailbox.AgentID) bool {
	t, ok := o.store.Get(id)
	return ok && !t.IsReplica()
}

// upload stores an object in the bucket if it is missing.
func (o *objectTransport) upload(ref mailbox.Ref) error {
	ctx, cancel := context.WithTimeout(o.scope, objectTimeout)
	defer cancel()
	return o.bucket.Put(ctx, ref, func() ([]byte, error) { return o.store.Object(ref) })
}

// Start implements mailbox.Transport.
func (o *objectTransport) Start(ctx context.Context, from mailbox.Cursor, deliver func(mailbox.Envelope, mailbox.Cursor), receipt func(mailbox.Receipt)) error {
	return o.Transport.Start(ctx, from, func(e mailbox.Envelope, c mailbox.Cursor) {
		if err := o.download(ctx, e); err != nil {
			o.trouble(fmt.Errorf("the text of message %s from %s is not here, it will be sent again: %w", e.ID, e.From, err))
			return
		}
		deliver(e, c)
	}, receipt)
}

// download writes the body of a message to an agent of this process to this disk.
func (o *objectTransport) download(ctx context.Context, e mailbox.Envelope) error {
	if !o.isLocal(e.To.Agent) || o.store.HasBody(e.Ref) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, objectTimeout)
	defer cancel()
	body, err := o.bucket.Get(ctx, e.Ref)
	if err != nil {
		return err
	}
	return o.store.PutBody(body)
}

// sweep periodically removes objects from the bucket that were not needed for a grace
// period, until ctx ends.
func (o *objectTransport) sweep(ctx context.Context, every, grace time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		within, cancel := context.WithTimeout(ctx, objectTimeout)
		needed := o.needed()
		err := o.bucket.Sweep(within, func(hash string) bool { return needed[hash] }, grace)
		cancel()
		if err != nil && ctx.Err() == nil {
			o.trouble(err)
		}
	}
}

// needed returns the objects of messages that are on their way, or that a member without a
// disk of its own has not read.
func (o *objectTransport) needed() map[string]bool {
	all := map[string]bool{}
	for _, e := range o.store.Pending() {
		all[e.Ref.Hash()] = true
	}
	for _, t := range o.store.All() {
		if t.Spec().Role != agent.Program {
			continue
		}
		for _, e := range t.Unread() {
			all[e.Ref.Hash()] = true
		}
	}
	return all
}
