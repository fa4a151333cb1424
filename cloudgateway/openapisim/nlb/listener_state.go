package nlb

import (
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func listenerStateActions() []api.Action {
	codes := []string{noListener, listenerStatus, balancerStatus, lockConflict}
	return []api.Action{
		write("DeleteListener", api.On2(settledListener, deleteListener), codes, mandatory("ListenerId")...),
		write("StartListener", switchListener(stopped, starting), codes, mandatory("ListenerId")...),
		write("StopListener", switchListener(running, stopping), codes, mandatory("ListenerId")...),
	}
}

func deleteListener(c *api.Context, l *state.NLBListener, _ *state.NLB) (*change, *api.Error) {
	switch {
	case busy(c, kindListener, l.ID): // with its certificates
		return nil, fail(lockConflict)
	}
	return reconfigure(l, deleting), nil
}

func switchListener(from, passing string) func(*api.Context) (*change, *api.Error) {
	return func(c *api.Context) (*change, *api.Error) {
		l, _, err := settledListener(c)
		switch {
		case err != nil:
			return nil, err
		case l.Status != from:
			return nil, fail(listenerStatus)
		}
		return reconfigure(l, passing), nil
	}
}

// finishListener completes a job of a listener.
func finishListener(c *api.Context, j *state.NLBJob) {
	l := c.State.NLBListeners[j.ResourceID]
	if l == nil { // its load balancer went
		return
	}
	done := j.Status == succeeded
	switch j.Action {
	case "CreateListener":
		if !done {
			delete(c.State.NLBListeners, l.ID)
			return
		}
		l.Status = running
		return
	case "DeleteListener":
		if done {
			delete(c.State.NLBListeners, l.ID)
			return
		}
	case "StartListener":
		if done {
			l.SettleTo = running
		}
	case "StopListener":
		if done {
			l.SettleTo = stopped
		}
	case associateAction, disassociateAction:
		finishCertificates(l, j)
		return
	}
	l.Status, l.SettleTo = l.SettleTo, ""
}

const (
	associateAction    = "AssociateAdditionalCertificatesWithListener"
	disassociateAction = "DisassociateAdditionalCertificatesWithListener"
)

func certificateActions() []api.Action {
	params := append(mandatory("ListenerId"), required(texts("AdditionalCertificateIds", maxAddCerts)))
	codes := []string{noListener, listenerStatus, balancerStatus, lockConflict, "OperationDenied.Protocol"}
	return []api.Action{
		write(associateAction, api.On(secureListener, associateCertificates), append(slices.Clone(codes),
			quota, "ResourceAlreadyAssociated.Certificate", "ResourceNotFound.Certificate"), params...),
		write(disassociateAction, api.On(secureListener, disassociateCertificates), append(slices.Clone(codes), "IncorrectStatus.certificate",
			"OperationDenied.CaCertificateUsed", "OperationDenied.DefaultCertificateUsed", "ResourceNotAssociated.Certificate"), params...),
	}
}

// secureListener returns the listener of a call if it can have additional certificates.
func secureListener(c *api.Context) (*state.NLBListener, *api.Error) {
	l, _, err := settledListener(c)
	switch {
	case err != nil:
		return nil, err
	case l.Protocol != protoTCPSSL:
		return nil, fail("OperationDenied.Protocol")
	}
	return l, nil
}

func additional(l *state.NLBListener, id string) *state.NLBCertificate {
	i := slices.IndexFunc(l.Additional, func(a state.NLBCertificate) bool { return a.ID == id })
	if i < 0 {
		return nil
	}
	return &l.Additional[i]
}

func associateCertificates(c *api.Context, l *state.NLBListener) (*change, *api.Error) {
	ids := c.List("AdditionalCertificateIds")
	for i, id := range ids {
		switch {
		case !certificateIs(c, []string{id}, false):
			return nil, fail("ResourceNotFound.Certificate")
		case additional(l, id) != nil || slices.Contains(l.CertificateIDs, id) || slices.Contains(ids[:i], id):
			return nil, fail("ResourceAlreadyAssociated.Certificate")
		}
	}
	if len(l.Additional)+len(ids) > c.Settings.Quotas.NLBCertificates {
		return nil, fail(quota)
	}
	return &change{kind: kindListener, id: l.ID, balancer: l.NLBID, items: ids, apply: func() {
		for _, id := range ids {
			l.Additional = append(l.Additional, state.NLBCertificate{ID: id, Status: associating})
		}
	}}, nil
}

func disassociateCertificates(c *api.Context, l *state.NLBListener) (*change, *api.Error) {
	ids := c.List("AdditionalCertificateIds")
	for _, id := range ids {
		switch a := additional(l, id); {
		case slices.Contains(l.CertificateIDs, id):
			return nil, fail("OperationDenied.DefaultCertificateUsed")
		case slices.Contains(l.CaCertificateIDs, id):
			return nil, fail("OperationDenied.CaCertificateUsed")
		case a == nil:
			return nil, fail("ResourceNotAssociated.Certificate")
		case a.Status != associated:
			return nil, fail("IncorrectStatus.certificate")
		}
	}
	return &change{kind: kindListener, id: l.ID, balancer: l.NLBID, items: ids, apply: func() {
		for _, id := range ids {
			additional(l, id).Status = disassociating
		}
	}}, nil
}

func finishCertificates(l *state.NLBListener, j *state.NLBJob) {
	l.Additional = slices.DeleteFunc(l.Additional, func(a state.NLBCertificate) bool {
		return a.Status == disassociating && slices.Contains(j.Items, a.ID)
	})
	for i, a := range l.Additional {
		if a.Status == associating && slices.Contains(j.Items, a.ID) {
			l.Additional[i].Status = associated
		}
	}
	if len(l.Additional) == 0 {
		l.Additional = nil
	}
}
