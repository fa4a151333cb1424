package plan

import "alicloud-controllers.dev/lbcontroller/internal/lb/model"

// What the tests look at from outside of the package.

func (a ChangeServers) After(have []model.Server) []model.Server { return a.after(have) }

func ChangeOfCertificates(want, old model.Listener) []Phase {
	var w listenerWork
	w.further(want, old)
	return []Phase{w.secure, w.insecure}
}

var (
	DiffGroup = diffServers
	OverTCP   = overTCP
	UsedBy    = usedBy
)
