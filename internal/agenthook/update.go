package agenthook

import (
	"encoding/json"
	"fmt"
)

// Update is a change of permissions that a hook of PermissionRequest asks for.
type Update struct {
	Type        string   `json:"type"` // addRules, setMode and others
	Rules       []Rule   `json:"rules"`
	Behavior    string   `json:"behavior"` // of the rules: allow, deny or ask
	Mode        string   `json:"mode"`
	Directories []string `json:"directories"`
	Destination string   `json:"destination"` // session, or a settings file
}

// Rule is a permission rule in two parts.
type Rule struct {
	Tool    string `json:"toolName"`
	Content string `json:"ruleContent"`
}

func (r Rule) String() string {
	if r.Content == "" {
		return r.Tool
	}
	return r.Tool + "(" + r.Content + ")"
}

// Allows returns the rules that the update adds to what the session allows, or an error
// if it is another update, none of which has an effect here.
func (u Update) Allows() (rules []string, err error) {
	if u.Type != "addRules" || u.Behavior != "allow" || u.Destination != "session" && u.Destination != "" {
		return nil, fmt.Errorf("updatedPermissions of type %.40q, behavior %.40q and destination %.40q has no effect here: only addRules with allow for the session has", u.Type, u.Behavior, u.Destination)
	}
	for _, r := range u.Rules {
		rules = append(rules, r.String())
	}
	return rules, nil
}

// updates are the entries of a list that can be read.
type updates []Update

// UnmarshalJSON implements json.Unmarshaler.
func (u *updates) UnmarshalJSON(raw []byte) error {
	var entries []json.RawMessage
	if json.Unmarshal(raw, &entries) != nil {
		return nil
	}
	for _, e := range entries {
		var one Update
		if json.Unmarshal(e, &one) == nil {
			*u = append(*u, one)
		}
	}
	return nil
}
