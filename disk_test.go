package swarm

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/internal/journal/journaltest"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/model/modeltest"
)

func diskSession(t *testing.T, disk *journaltest.Disk, m model.Model) (*Session, error) {
	t.Helper()
	return Open(t.Context(), Options{
		Dir: t.TempDir(), StateDir: t.TempDir(), Home: t.TempDir(), disk: disk,
		Models: func(name string) (model.Model, string, error) { return m, name, nil },
	})
}

func TestAFailedSyncStopsTheSessionLoudly(t *testing.T) {
	disk := journaltest.New()
	m := modeltest.Each(func(ctx context.Context, _ *model.Request) (*model.Answer, error) {
		disk.FailSync(1) // the answer cannot be made durable; later syncs would succeed
		return modeltest.Answer(model.Text("done")), nil
	})
	s, err := diskSession(t, disk, m)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Run(t.Context(), "go")
	if !errors.Is(err, journal.ErrFailed) || !strings.Contains(err.Error(), "session was stopped") {
		t.Errorf("Run ended with %v", err)
	}
	if disk.Counts().FailedSyncs != 1 {
		t.Error("the fault was not reached")
	}
	if _, err := s.Send("team-lead", "hello"); err == nil {
		t.Error("a message was accepted after the journal had failed")
	}
	if err := s.Close(); !errors.Is(err, journal.ErrFailed) {
		t.Errorf("Close ended with %v", err)
	}
}

func TestAFullOrReadOnlyDiskIsRefusedAtTheStart(t *testing.T) {
	for name, spoil := range map[string]func(*journaltest.Disk){
		"full":      func(d *journaltest.Disk) { d.Full(1) },
		"read-only": func(d *journaltest.Disk) { d.ReadOnly(true) },
	} {
		t.Run(name, func(t *testing.T) {
			disk := journaltest.New()
			spoil(disk)
			s, err := diskSession(t, disk, modeltest.Script())
			if err == nil {
				t.Errorf("the session began: %v", s.Close())
			}
		})
	}
}
