package archive

import (
	"context"
	"errors"
	"time"

	"github.com/actorswarm/swarm/internal/journal"
)

// unlockedWithin is how long OpenWhenUnlocked waits for readers.
const unlockedWithin = 10 * time.Second

// OpenWhenUnlocked calls open until the journal that it opens for writing is not locked,
// for ten seconds at most. The lock of the agent's launch keeps other writers away, so
// whatever process has the journal only reads it, or is about to end.
func OpenWhenUnlocked(ctx context.Context, open func() error) error {
	late := time.NewTimer(unlockedWithin)
	defer late.Stop()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		err := open()
		if !errors.Is(err, journal.ErrLocked) {
			return err
		}
		select {
		case <-again.C:
		case <-late.C:
			return err
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		}
	}
}
