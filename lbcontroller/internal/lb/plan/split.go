package plan

// Without leaves out the actions that leave names, and those that need them. It returns what it left out apart.
func (p Plan) Without(leave func(Action) bool) (rest Plan, left []Action) {
	rest.Refused, rest.Kept, rest.Waits = p.Refused, p.Kept, p.Waits
	for _, phase := range p.Phases {
		var kept Phase
		for _, action := range phase {
			if leave(action) || needsAny(action, left) {
				left = append(left, action)
			} else {
				kept = append(kept, action)
			}
		}
		rest.add(kept)
	}
	return rest, left
}

func needsAny(action Action, earlier []Action) bool {
	for _, e := range earlier {
		if Needs(action, e) {
			return true
		}
	}
	return false
}
