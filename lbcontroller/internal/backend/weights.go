package backend

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

const (
	// SlicesManager is the value of the label endpointslice.kubernetes.io/managed-by of the slices that the controller makes for Gateways.
	SlicesManager = "gateway.alibabacloud.com"
	// AnnotationWeight is on such slices, "WEIGHT NAME": the endpoints of all slices of a port with that name have the weight together. On
	// slices of others it means nothing.
	AnnotationWeight = "gateway.alibabacloud.com/weight"
	// AnnotationEdit is on Services that the controller makes, and another one after each edit of its own. An edit of a user's leaves it.
	AnnotationEdit = "gateway.alibabacloud.com/edit"
	// MaxSliceWeight is the highest weight that slices may have, that of the Gateway API.
	MaxSliceWeight = 1_000_000
)

// SliceWeight is what a slice of the controller's own says about the weight of its endpoints.
func SliceWeight(slice *discoveryv1.EndpointSlice) (weight int64, name string, ok bool) {
	if slice.Labels[discoveryv1.LabelManagedBy] != SlicesManager {
		return 0, "", false
	}
	number, name, ok := strings.Cut(slice.Annotations[AnnotationWeight], " ")
	weight, err := strconv.ParseInt(number, 10, 64)
	if !ok || err != nil || weight < 0 || weight > MaxSliceWeight {
		return 0, "", false
	}
	return weight, name, true
}

// weigh gives the pods of a port weights up to most, so that together those of each name have its part of the traffic. A pod of a name with
// a
// weight has at least 1, which is the finest part there is.
func (s Source) weigh(port corev1.ServicePort, most int32, shares []Share) {
	members, weights := map[string]map[Backend]bool{}, map[string]int64{}
	for _, slice := range s.Slices {
		weight, name, ok := SliceWeight(slice)
		number, has := slicePort(slice, port)
		if !ok || !has {
			continue
		}
		if members[name] == nil {
			members[name] = map[Backend]bool{}
		}
		weights[name] = weight
		for _, e := range slice.Endpoints {
			if len(e.Addresses) > 0 {
				members[name][Backend{IP: e.Addresses[0], Port: number}] = true
			}
		}
	}
	if len(members) == 0 {
		return
	}
	parts := make([]float64, len(shares))
	for name, of := range members {
		taken := 0
		for _, share := range shares {
			if of[share.Backend] {
				taken++
			}
		}
		for i, share := range shares {
			if of[share.Backend] {
				parts[i] += float64(weights[name]) / float64(taken)
			}
		}
	}
	greatest := slices.Max(append(parts, 0))
	for i, part := range parts {
		shares[i].Weight = 0
		if part > 0 {
			shares[i].Weight = max(min(minWeight, most), int32(part/greatest*float64(most)+0.5))
		}
	}
}
