package session

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/actorswarm/swarm/internal/statefile"
)

// BusUser is a program outside that may use a session's bus. Of its key only the
// public half is known here.
type BusUser struct {
	Name  string    `json:"name"`
	Key   string    `json:"key"`
	Added time.Time `json:"added"`
}

// busFile is where the users of a session's bus are kept.
func (i Info) busFile() string { return filepath.Join(i.Path, "bus", "users.json") }

// BusUsers returns who may use the bus of the session, running or not, by name.
func (i Info) BusUsers() ([]BusUser, error) {
	raw, err := os.ReadFile(i.busFile())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the users of the bus of session %s: %w", i.ID, err)
	}
	var all []BusUser
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf("the users of the bus in %s are damaged: %w", i.busFile(), err)
	}
	return all, nil
}

// PutBusUser puts a user into the file, in the place of one of its name, or with
// an empty key takes it out. It returns who may use the bus from then on, by name.
func (i Info) PutBusUser(u BusUser) ([]BusUser, error) {
	all, err := i.BusUsers()
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(old BusUser) bool { return old.Name == u.Name })
	if u.Key != "" {
		all = append(all, u)
	}
	slices.SortFunc(all, func(a, b BusUser) int { return cmp.Compare(a.Name, b.Name) })
	raw, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the users of the bus: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(i.busFile()), 0o700); err != nil {
		return nil, statefile.Error(i.Path, err)
	}
	return all, statefile.Write(i.busFile(), append(raw, '\n'))
}
