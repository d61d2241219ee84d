package turn

import (
	"fmt"
	"strings"

	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/message"
)

// bodyOf returns the text of a message for a model. A structured body that is not valid
// is returned unchanged, as data.
func bodyOf(e mailbox.Envelope) string {
	m, err := message.Decode(e.Kind, e.Body)
	if err != nil {
		return e.Body
	}
	switch m := m.(type) {
	case message.TaskAssigned:
		return lines(fmt.Sprintf("%s gave you task %s: %s", m.By, m.TaskID, m.Subject), m.Description,
			"Take it with TaskUpdate (status in_progress) before you begin, and complete it the same way.")
	case message.TaskCompleted:
		text := fmt.Sprintf("%s has completed task %s: %s", m.By, m.TaskID, m.Subject)
		if len(m.Freed) > 0 {
			text += fmt.Sprintf("\nYour task %s waited for it and can be taken now.", strings.Join(m.Freed, ", "))
		}
		return text
	case message.ShutdownRequest:
		return lines(fmt.Sprintf("You are asked to end your work (request %s).", m.RequestID), m.Reason,
			fmt.Sprintf("You have %d seconds. Bring what you do to a safe end and answer with SendMessage, a shutdown_response with this request_id: "+
				"approve true, or once approve false with your reason.", (m.GraceMS+999)/1000))
	case message.ShutdownResponse:
		return verdict(m.Approve, "It agrees to end", "It objects to ending", m.RequestID, m.Reason)
	case message.PlanApprovalRequest:
		return lines(fmt.Sprintf("It asks you to approve its plan (request %s):", m.RequestID), m.Plan,
			"Answer with SendMessage, a plan_approval_response with this request_id: approve true or false, and your feedback.")
	case message.PlanApprovalResponse:
		return verdict(m.Approve, "Your plan is approved: go ahead", "Your plan is not approved: change it and ask again", m.RequestID, m.Feedback)
	case message.PermissionResponse:
		return verdict(m.Approve, "The call is allowed", "The call is refused", m.RequestID, m.Note)
	case message.Answer:
		return lines(fmt.Sprintf("The answer to your question (request %s):", m.RequestID), strings.Join(m.Chosen, ", "), m.Text)
	case message.Receipt:
		return lines(fmt.Sprintf("Your message %s is %s.", m.MessageID, m.State), m.Reason)
	}
	return e.Body
}

func verdict(approve bool, yes, no, request, why string) string {
	what := no
	if approve {
		what = yes
	}
	return lines(fmt.Sprintf("%s (request %s).", what, request), why)
}

// lines joins the parts that are not empty.
func lines(parts ...string) string {
	var kept []string
	for _, p := range parts {
		if strings.TrimSpace(p) != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "\n")
}
