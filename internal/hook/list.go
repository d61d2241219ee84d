package hook

import (
	"maps"
	"slices"
)

// Listed is one handler of a set, for people.
type Listed struct {
	Event   string `json:"event"`
	Matcher string `json:"matcher,omitempty"`
	If      string `json:"if,omitempty"`
	Type    string `json:"type,omitempty"`
	Command string `json:"command,omitempty"` // or the URL
	Source  string `json:"source"`
	// Fault is why the handler does not run; "" if it does.
	Fault string `json:"fault,omitempty"`
}

// List returns all handlers by event, in the order of their files.
func (s *Set) List() (all []Listed) {
	for _, event := range slices.Sorted(maps.Keys(s.handlers)) {
		known, _ := FindEvent(event)
		for _, h := range s.handlers[event] {
			l := Listed{Event: event, Matcher: h.matcher, If: h.If, Type: h.Type, Command: h.name(), Source: h.source}
			switch {
			case h.err != nil:
				l.Fault = h.err.Error()
			case !known.Fires():
				l.Fault = "nothing fires the event: " + known.Absent
			}
			all = append(all, l)
		}
	}
	return all
}
