package swarm

import (
	"context"
	"errors"
	"time"

	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/internal/transcript"
)

// looksWithin is how long others may look at the record of an agent whose process begins.
const looksWithin = 10 * time.Second

// openPatiently opens the record. The only other who writes that of a node is held off by
// the lock of its launch: who has the journal only looks, or is about to be gone.
func (s *Session) openPatiently(ctx context.Context, o transcript.Options) (*transcript.Store, error) {
	late := time.NewTimer(looksWithin)
	defer late.Stop()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		store, err := transcript.Open(ctx, s.info.Path, s.info.ID, o)
		if s.opts.node == nil || !errors.Is(err, journal.ErrLocked) {
			return store, err
		}
		select {
		case <-again.C:
		case <-late.C:
			return nil, err
		case <-ctx.Done():
			return nil, err
		}
	}
}
