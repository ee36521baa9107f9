# A bucket with all that Terraform's provider for AWS sets of what a store here has.

terraform {
  required_providers {
    aws = {
      source = "hashicorp/aws"
    }
  }
}

variable "endpoint" {}

provider "aws" {
  region                      = "us-east-1"
  s3_use_path_style           = true
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_requesting_account_id  = true
  endpoints {
    s3 = var.endpoint
  }
}

resource "aws_s3_bucket" "b" {
  bucket = "terraformed"
  tags = {
    made = "by-terraform"
  }
}

resource "aws_s3_bucket_ownership_controls" "b" {
  bucket = aws_s3_bucket.b.id
  rule {
    object_ownership = "BucketOwnerPreferred"
  }
}

resource "aws_s3_bucket_acl" "b" {
  bucket     = aws_s3_bucket.b.id
  acl        = "private"
  depends_on = [aws_s3_bucket_ownership_controls.b]
}

resource "aws_s3_bucket_public_access_block" "b" {
  bucket                  = aws_s3_bucket.b.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_cors_configuration" "b" {
  bucket = aws_s3_bucket.b.id
  cors_rule {
    allowed_methods = ["GET"]
    allowed_origins = ["https://example.com"]
    expose_headers  = ["ETag"]
    max_age_seconds = 100
  }
}

resource "aws_s3_bucket_lifecycle_configuration" "b" {
  bucket = aws_s3_bucket.b.id
  rule {
    id     = "tmp"
    status = "Enabled"
    filter {
      prefix = "tmp/"
    }
    expiration {
      days = 3
    }
    abort_incomplete_multipart_upload {
      days_after_initiation = 2
    }
  }
}

resource "aws_s3_bucket_policy" "b" {
  bucket = aws_s3_bucket.b.id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "keep"
      Effect    = "Deny"
      Principal = "*"
      Action    = "s3:DeleteObject"
      Resource  = "arn:aws:s3:::terraformed/keep/*"
    }]
  })
}

resource "aws_s3_object" "o" {
  bucket       = aws_s3_bucket.b.id
  key          = "hello"
  content      = "world"
  content_type = "text/plain"
  tags = {
    made = "by-terraform"
  }
}

data "aws_s3_object" "o" {
  bucket = aws_s3_bucket.b.id
  key    = aws_s3_object.o.key
}

output "body" {
  value = data.aws_s3_object.o.body
}
