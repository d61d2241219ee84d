package session

import "time"

// Worktree is a directory of its own that an agent of a session has or left: a
// git worktree, or what a hook made in its place.
type Worktree struct {
	Session string    `json:"session"`
	Agent   string    `json:"agent"`
	State   string    `json:"state"` // creating, leased, kept, removing
	Path    string    `json:"path"`
	Branch  string    `json:"branch"` // "" if a hook made it
	Since   time.Time `json:"since"`
	Live    bool      `json:"live"`              // a process holds it
	Rescue  string    `json:"rescue,omitempty"`  // commit that holds what was in it
	Problem string    `json:"problem,omitempty"` // what is wrong with it
	Removed bool      `json:"removed,omitempty"` // it is gone now
	Why     []string  `json:"why,omitempty"`     // what it is kept for
}
