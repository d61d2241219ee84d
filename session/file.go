package session

import (
	"cmp"
	"reflect"
	"slices"
	"sync"

	"github.com/actorswarm/swarm/mailbox"
)

// File is the record of a session that this process runs. Its methods may be called
// from any goroutine.
type File struct {
	mu   sync.Mutex
	info Info // guarded by mu
}

// NewFile returns the record of a session. It is written with the first Update or Save.
func NewFile(i Info) *File { return &File{info: i} }

// Get returns the present record. The caller must not change its slices.
func (f *File) Get() Info {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.info
}

// Save writes the record.
func (f *File) Save() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.info.Write()
}

// Update changes the record: it is on disk when Update returns, and only then does Get
// return it. If change or the disk fails, nothing has changed. A record that change leaves
// as it is, is not written. change replaces slices and does not write into them; it must
// not call methods of f.
func (f *File) Update(change func(*Info) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	next := f.info
	if err := change(&next); err != nil {
		return err
	}
	if reflect.DeepEqual(next, f.info) {
		return nil
	}
	if err := next.Write(); err != nil {
		return err
	}
	f.info = next
	return nil
}

// Grant records allow rules that an answer "always" has added.
func (f *File) Grant(rules []string) error {
	return f.Update(func(i *Info) error {
		for _, rule := range rules {
			if !slices.Contains(i.Granted, rule) {
				i.Granted = append(slices.Clip(i.Granted), rule)
			}
		}
		return nil
	})
}

// SetPrompt records the first line of the first prompt, for lists of sessions.
func (f *File) SetPrompt(prompt string) error {
	return f.Update(func(i *Info) error {
		i.Prompt = cmp.Or(i.Prompt, mailbox.FirstLine(prompt, 120))
		return nil
	})
}
