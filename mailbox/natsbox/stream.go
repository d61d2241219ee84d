package natsbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/actorswarm/swarm/mailbox"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// space names the subjects and the stream of one session.
type space string

func (s space) stream() string { return "MB_" + string(s) }

func (s space) mail(to, from string) string { return "sw." + string(s) + ".mb." + to + "." + from }

func (s space) receipts(sender string) string { return "sw." + string(s) + ".rc." + sender }

// advisory is the subject on which the server reports that the stream was created or deleted.
func (s space) advisory(what string) string {
	return "$JS.EVENT.ADVISORY.STREAM." + what + "." + s.stream()
}

// parseMail returns receiver and sender from a mail subject.
func (s space) parseMail(subject string) (to, from string, ok bool) {
	rest, ok := strings.CutPrefix(subject, "sw."+string(s)+".mb.")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, ".")
}

func (s space) check() error {
	if !mailbox.AgentID(s).Valid() {
		return fmt.Errorf("natsbox: %.80q cannot be a space; use 1 to 64 of a-z, 0-9 and '-'", string(s))
	}
	return nil
}

// config returns the configuration of the stream. It drops the oldest messages at its
// limits: a lost envelope is sent again, while a refused one would block every sender.
func (o Options) config() jetstream.StreamConfig {
	s := space(o.Space)
	return jetstream.StreamConfig{
		Name:      s.stream(),
		Subjects:  []string{s.mail("*", "*")},
		Retention: jetstream.LimitsPolicy,
		Storage:   jetstream.FileStorage,
		Discard:   jetstream.DiscardOld,
		MaxBytes:  o.MaxBytes,
		MaxAge:    o.MaxAge,
		Replicas:  max(o.Replicas, 1),
		// The ledgers drop duplicates. The server's window costs 93 bytes for each message in it
		// and serves only a client library that sends twice.
		Duplicates: time.Second,
	}
}

// recreateDelay is how long a stream must be missing before a running box makes it again.
// The advisory of a deletion comes before the server has finished it, and a stream made in
// between accepts messages without storing or answering them (nats-server 2.15.2, 7 of
// 200 tries).
const recreateDelay = 500 * time.Millisecond

// find returns the stream of the space; a running box makes it again if it stays missing.
func (b *Box) find(ctx context.Context) (jetstream.Stream, error) {
	st, err := b.js.Stream(ctx, b.space.stream())
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return st, b.streamError(err)
	}
	select {
	case <-ctx.Done():
		return nil, b.streamError(context.Cause(ctx))
	case <-time.After(recreateDelay):
	}
	return b.ensure(ctx)
}

// ensure returns the stream of the space and makes it if it is missing. It does not change
// an existing one: another process may have other limits.
func (b *Box) ensure(ctx context.Context) (jetstream.Stream, error) {
	st, err := b.js.Stream(ctx, b.space.stream())
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		st, err = b.js.CreateStream(ctx, b.o.config())
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			st, err = b.js.Stream(ctx, b.space.stream())
		}
	}
	return st, b.streamError(err)
}

func (b *Box) streamError(err error) error {
	if errors.Is(err, nats.ErrNoResponders) { // every server with JetStream responds to requests about streams
		err = fmt.Errorf("%w (%w)", jetstream.ErrJetStreamNotEnabled, err)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return fmt.Errorf("natsbox: open the stream %s: JetStream must be on at the NATS server (nats-server -js) and for the account: %w", b.space.stream(), err)
	}
	return fmt.Errorf("natsbox: open the stream %s: %w", b.space.stream(), err)
}
