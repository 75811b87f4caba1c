package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// newClient returns a client of the DynamoDB at endpoint. One on this machine is
// an emulator, to which any credentials and any Region will do; a real one gets
// those that the SDK finds.
func newClient(ctx context.Context, endpoint string) (client *dynamodb.Client, closeIdle func(), err error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return nil, nil, fmt.Errorf("%s is %q; use a whole URL, such as http://127.0.0.1:8000", endpointEnv, endpoint)
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() == "localhost" || ip != nil && ip.IsLoopback() {
		transport := &http.Transport{} // no proxy: it is on this machine
		return dynamodb.New(dynamodb.Options{
			Region: "us-east-1", BaseEndpoint: &endpoint, HTTPClient: &http.Client{Transport: transport},
			Credentials: credentials.NewStaticCredentialsProvider("any", "any", ""),
		}), transport.CloseIdleConnections, nil
	}
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, nil, err
	}
	client = dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) { o.BaseEndpoint = &endpoint })
	return client, func() {}, nil
}

// deleteTables leaves nothing behind, also when ctx has ended.
func deleteTables(ctx context.Context, client *dynamodb.Client, w io.Writer, tables ...string) {
	const longest = 20 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), longest)
	defer cancel()
	for _, table := range tables {
		_, err := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &table})
		if _, gone := errors.AsType[*types.ResourceNotFoundException](err); err != nil && !gone {
			printf(w, "table %s may be left: %v\n", table, err)
		}
	}
}

func printf(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }
