// What a board of dashboards/ may hold: Grafana's types of its dashboard, with the options and fields
// of each kind of panel that the boards use.

import type {
  AnnotationQuery,
  Dashboard,
  DataQuery,
  DataSourceRef,
  FieldConfigSource,
  Panel,
  RowPanel,
  VariableModel,
} from "@grafana/schema";
import type * as barGauge from "@grafana/schema/dist/types/raw/composable/bargauge/panelcfg/x/BarGaugePanelCfg_types.gen.d.ts";
import type * as gauge from "@grafana/schema/dist/types/raw/composable/gauge/panelcfg/x/GaugePanelCfg_types.gen.d.ts";
import type * as heatmap from "@grafana/schema/dist/types/raw/composable/heatmap/panelcfg/x/HeatmapPanelCfg_types.gen.d.ts";
import type * as stat from "@grafana/schema/dist/types/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen.d.ts";
import type * as table from "@grafana/schema/dist/types/raw/composable/table/panelcfg/x/TablePanelCfg_types.gen.d.ts";
import type * as timeSeries from "@grafana/schema/dist/types/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen.d.ts";

/** A type as JSON has it: an enumeration is one of its texts. */
type Json<T> = unknown extends T
  ? T
  : T extends string
    ? `${T}`
    : T extends number | boolean | null | undefined
      ? T
      : T extends readonly (infer Item)[]
        ? Json<Item>[]
        : T extends object
          ? { [Key in keyof T]: Json<T[Key]> }
          : T;

/** A query of Prometheus: its type is in the data source's own package, not in the schema's. */
interface Prometheus extends DataQuery {
  datasource: DataSourceRef;
  expr: string;
  editorMode?: "code" | "builder";
  format?: "time_series" | "table" | "heatmap";
  instant?: boolean;
  interval?: string;
  legendFormat?: string;
  range?: boolean;
}

/** A query of the Infinity data source (version 3), as far as the boards use it. */
interface Infinity extends DataQuery {
  datasource: DataSourceRef;
  type: "json";
  parser: "backend";
  source: "url";
  format: "table";
  url: string;
  url_options: {
    method: "GET";
    data: "";
    params: { key: string; value: string }[];
  };
  root_selector: string;
  columns: {
    selector: string;
    text: string;
    type: "string" | "number" | "boolean" | "timestamp" | "timestamp_epoch" | "timestamp_epoch_s";
  }[];
  filters: never[];
}

/** The fields of a kind of panel; those of the kind itself are `custom`. */
type Fields<Custom> = Omit<FieldConfigSource, "defaults"> & {
  defaults: Omit<FieldConfigSource["defaults"], "custom"> & { custom?: Partial<Custom> };
};

type PanelOf<Kind extends string, Options, Custom> = Omit<
  Json<Panel>,
  "type" | "options" | "fieldConfig" | "targets"
> & {
  type: Kind;
  options: Json<Options>;
  fieldConfig: Json<Fields<Custom>>;
  targets: (Json<Prometheus> | Json<Infinity>)[];
};

type NumberPanel =
  | PanelOf<"bargauge", barGauge.Options, object>
  | PanelOf<"gauge", gauge.Options, object>
  | PanelOf<"heatmap", heatmap.Options, heatmap.FieldConfig>
  | PanelOf<"stat", stat.Options, object>
  | PanelOf<"table", table.Options, table.FieldConfig>
  | PanelOf<"timeseries", timeSeries.Options, timeSeries.FieldConfig>;

/** A row; one that is folded holds its panels. */
type Row = Omit<Json<RowPanel>, "type" | "panels"> & { type: "row"; panels: NumberPanel[] };

type AnyPanel = NumberPanel | Row;

/** An annotation; those that ask Prometheus have that data source's fields, too. */
type Annotation = Omit<Json<AnnotationQuery>, "target"> & {
  target?: Json<Prometheus>;
  titleFormat?: string;
  textFormat?: string;
  tagKeys?: string;
  useValueForTime?: boolean;
};

/** A variable; `definition` is what Grafana shows of a query in its list. */
type Variable = Json<VariableModel> & { definition?: string };

/** A board. */
export type Board = Omit<Json<Dashboard>, "panels" | "annotations" | "templating"> & {
  panels: AnyPanel[];
  annotations: { list: Annotation[] };
  templating: { list: Variable[] };
};
