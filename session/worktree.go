package session

import "time"

// Worktree is a git worktree that an agent of a session has or left, or a directory that a
// hook made in its place.
type Worktree struct {
	Session string    `json:"session"`
	Agent   string    `json:"agent"`
	State   string    `json:"state"` // creating, leased, kept, removing
	Path    string    `json:"path"`
	Branch  string    `json:"branch"` // "" if a hook made it
	Since   time.Time `json:"since"`
	Live    bool      `json:"live"`              // a process uses it
	Rescue  string    `json:"rescue,omitempty"`  // commit with its content
	Problem string    `json:"problem,omitempty"` // why it cannot be used
	Removed bool      `json:"removed,omitempty"` // it no longer exists
	Why     []string  `json:"why,omitempty"`     // why it remains
}
