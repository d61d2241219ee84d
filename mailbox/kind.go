package mailbox

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is the purpose of a message. The set is closed: a decoder refuses unknown kinds,
// because a guess would change the meaning of the message. Package message has the
// types of the bodies.
type Kind string

// The kinds of message.
const (
	KindText                 Kind = "text"                   // one agent writes to one other
	KindBroadcast            Kind = "broadcast"              // one of the copies of a message to all members of a team
	KindAgentReport          Kind = "agent_report"           // the outcome of a finished agent
	KindIdle                 Kind = "idle"                   // a teammate has nothing to do
	KindShutdownRequest      Kind = "shutdown_request"       // asks a member to end
	KindShutdownResponse     Kind = "shutdown_response"      // a member agrees to end, or objects once
	KindPlanApprovalRequest  Kind = "plan_approval_request"  // a member's plan
	KindPlanApprovalResponse Kind = "plan_approval_response" // the decision about a plan
	KindPermissionRequest    Kind = "permission_request"     // a call that a person must allow
	KindPermissionResponse   Kind = "permission_response"    // the person's decision
	KindQuestion             Kind = "question"               // a question to a person
	KindAnswer               Kind = "answer"                 // the person's answer
	KindTaskAssigned         Kind = "task_assigned"          // a task of the board was given to the receiver
	KindTaskCompleted        Kind = "task_completed"         // a task that the receiver waits for is done
	KindReceipt              Kind = "receipt"                // the state of a message, for people and models
)

// kinds holds each kind at its number in journals: append only.
var kinds = [...]Kind{
	1: KindText, 2: KindBroadcast, 3: KindAgentReport, 4: KindIdle,
	5: KindShutdownRequest, 6: KindShutdownResponse, 7: KindPlanApprovalRequest, 8: KindPlanApprovalResponse,
	9: KindPermissionRequest, 10: KindPermissionResponse, 11: KindQuestion, 12: KindAnswer,
	13: KindTaskAssigned, 14: KindTaskCompleted, 15: KindReceipt,
}

// Kinds returns every kind.
func Kinds() []Kind { return slices.Clone(kinds[1:]) }

// Valid reports whether the kind is known.
func (k Kind) Valid() bool { return k.number() != 0 }

func (k Kind) number() byte {
	if k == "" {
		return 0
	}
	return byte(max(slices.Index(kinds[:], k), 0))
}

func kindOf(n byte) Kind {
	if int(n) >= len(kinds) {
		return ""
	}
	return kinds[n]
}

func kindError(k Kind) error {
	names := make([]string, 0, len(kinds))
	for _, known := range kinds[1:] {
		names = append(names, string(known))
	}
	return fmt.Errorf("mailbox: unknown kind of message %.80q; known are %s", k, strings.Join(names, ", "))
}

// Class is when a message enters the receiver's conversation.
type Class string

// The classes.
const (
	// ClassControl cancels the running tool or stream; the receiver reads it next.
	ClassControl Class = "control"
	// ClassSteer is read at the next step of a turn.
	ClassSteer Class = "steer"
	// ClassMail is read after the end of the turn.
	ClassMail Class = "mail"
)

var classes = [...]Class{1: ClassControl, 2: ClassSteer, 3: ClassMail}

// Valid reports whether the class is known or "".
func (c Class) Valid() bool { return slices.Contains(classes[:], c) }

func (c Class) number() byte { return byte(max(slices.Index(classes[:], c), 0)) }

// EffectiveClass returns the class of e, or that of its kind if it has none.
func (e Envelope) EffectiveClass() Class {
	switch {
	case e.Class != "":
		return e.Class
	case e.Kind == KindShutdownRequest:
		return ClassControl
	case e.Kind == KindTaskCompleted, e.Kind == KindReceipt:
		return ClassMail
	}
	return ClassSteer
}

// Wakes reports whether an idle receiver begins a turn for the message. It does not for
// an idle notice or a receipt of class mail: those are read when a turn begins for
// another reason.
func (e Envelope) Wakes() bool {
	return e.Kind != KindIdle && e.Kind != KindReceipt || e.EffectiveClass() != ClassMail
}
