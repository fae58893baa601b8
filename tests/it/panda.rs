//! PanDA's database as its changes come from it: a PostgreSQL with PanDA's tables, rows moved as PanDA's
//! server moves them, Kafka Connect with Debezium (`YARDMASTER_TEST_POSTGRES`: where initdb and
//! postgres are; `YARDMASTER_TEST_CONNECT`: Connect's jars). Without them these tests are left out, and
//! say so; recorded messages stand in (`wire::dialect::change`).

mod absent;
mod captured;
mod check;
mod day;
mod live;
mod patches;
mod rows;
mod servers;
mod writer;
