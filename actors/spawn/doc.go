// Package spawn decides what agent a call of the Agent tool makes. A call, the
// definitions, the caller and the session's policy go in; a plan comes out: the
// agent's specification and the reason for each choice.
//
//	policy := spawn.Policy{MaxDepth: 2, NoBackground: true}
//	plan, err := policy.Plan(set, spawn.Call{Prompt: "Read the tests.", Type: "explore"}, parent, tools)
//	if err != nil {
//		return err // *UnknownTypeError, *LimitError, *BadNameError, ...
//	}
//	fmt.Println(plan.Spec.Role, plan.Spec.Model, plan.Reasons)
//
// Laws:
//
//   - Plan is a pure function: the same arguments give the same plan (TestPlanIsPure).
//
//   - An agent never has more power than its caller: its permission mode is at most
//     as wide, its directory is below the caller's or one of the session's, its
//     depth is bounded (TestPlan, TestPlanChecksModeTeamEffortAndDirectory).
//
//   - What cannot be given is refused, never left out in silence: an unknown type,
//     team, mode, effort, link or isolation is an error that names the choices
//     (TestPlan, TestPlanChecksModeTeamEffortAndDirectory).
//
// Only [Policy.CheckDir] reads the file system.
package spawn
