package sts

import (
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m, Product(nil)) }
