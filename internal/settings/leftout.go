package settings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// LeftOut is one entry of a settings file that would loosen and does not apply.
type LeftOut struct {
	Kind string `json:"kind"` // its key, such as "allow"
	Text string `json:"text"`
	From string `json:"from"` // file and line
	Why  string `json:"why"`  // with the way out
}

// loosening returns what the file would allow. Why is left empty.
func (r *permissionReader) loosening() (all []LeftOut) {
	for _, rule := range r.allow {
		all = append(all, LeftOut{Kind: "allow", Text: rule.String(), From: rule.Source})
	}
	for _, d := range r.dirs {
		all = append(all, LeftOut{Kind: "additionalDirectories", Text: d.Value, From: d.From})
	}
	if widens(r.mode.Value) {
		all = append(all, LeftOut{Kind: "defaultMode", Text: r.mode.Value, From: r.mode.From})
	}
	return all
}

// leftOut returns what of the file does not apply, and why.
func (r *permissionReader) leftOut() []LeftOut {
	why := r.obstacle()
	if why == "" {
		return nil
	}
	all := r.loosening()
	for i := range all {
		all[i].Why = why
	}
	return all
}

// obstacle returns until when what the file loosens is left out, or "".
func (r *permissionReader) obstacle() string {
	switch {
	case r.isLoose():
		return ""
	case r.file.Unsafe != "":
		return r.file.Unsafe
	case r.untrusted:
		return "until you trust the directory (swarm trust)"
	case r.unguarded != "" && r.ofDirectory():
		return "until you trust the hooks of " + r.unguarded + ", which have changed (swarm trust)"
	}
	return "until the file is corrected"
}

// notes returns what of the file does not apply, one line each.
func (r *permissionReader) notes() []string {
	notes := slices.Clone(r.remarks)
	for _, err := range r.wrong {
		notes = append(notes, err.Error())
	}
	if left := r.leftOut(); len(left) > 0 {
		notes = append(notes, fmt.Sprintf("%s: these are left out %s: %s; its deny and ask rules hold", r.file.Path, left[0].Why, sentence(left)))
	}
	return notes
}

// sentence joins entries for a message, such as "allow A, B; defaultMode plan".
func sentence(all []LeftOut) string {
	var b strings.Builder
	for i, l := range all {
		switch {
		case i > 0 && all[i-1].Kind == l.Kind:
			b.WriteString(", ")
		case i > 0:
			b.WriteString("; " + l.Kind + " ")
		default:
			b.WriteString(l.Kind + " ")
		}
		b.WriteString(l.Text)
	}
	return b.String()
}

// trustText returns entries in a form that no others share, for the record of what is
// trusted.
func trustText(all []LeftOut) []byte {
	texts := map[string][]string{}
	for _, l := range all {
		texts[l.Kind] = append(texts[l.Kind], l.Text)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(texts); err != nil {
		return nil // strings can always be encoded
	}
	return bytes.TrimSpace(b.Bytes())
}
