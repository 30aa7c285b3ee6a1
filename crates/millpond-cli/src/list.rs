//! `millpond list`: what can be run, and the parts that can be exchanged.

use crate::failure::Failure;
use crate::families::{FAMILIES, Family};
use crate::report::print;
use clap::ArgMatches;
use comfy_table::Table;
use comfy_table::presets::UTF8_BORDERS_ONLY;
use millpond::catalogue::Row;
use millpond_workloads::{Kind, Opt, WORKLOADS, Workload};
use serde_json::{Map, Value, json};

/// Prints one list, or all of them.
pub fn list(matches: &ArgMatches) -> Result<bool, Failure> {
    let what = matches.get_one::<String>("what").map(String::as_str);
    let wanted = |name: &str| what.is_none_or(|what| what == name);
    let families = FAMILIES.iter().filter(|family| wanted(family.plural));
    if matches.get_flag("json") {
        let mut object = Map::new();
        if wanted("workloads") {
            object.insert("workloads".into(), WORKLOADS.iter().map(workload_json).collect());
        }
        object.extend(families.map(|family| (family.plural.to_owned(), family_json(family))));
        print(&Value::Object(object).to_string())?;
    } else {
        let mut tables = Vec::new();
        if wanted("workloads") {
            tables.push(table("workloads", WORKLOADS.iter().map(|w| (w.name, workload_text(w)))));
        }
        tables.extend(families.map(|f| table(f.plural, f.members.iter().map(|m| (m.name, m.summary.to_owned())))));
        print(&tables.join("\n"))?;
    }
    Ok(true)
}

fn table(name: &str, rows: impl Iterator<Item = (&'static str, String)>) -> String {
    let mut table = Table::new();
    table.load_style(UTF8_BORDERS_ONLY).set_header([name, ""]);
    for (name, text) in rows {
        table.add_row([name.to_owned(), text]);
    }
    table.to_string()
}

fn workload_text(workload: &Workload) -> String {
    let options: Vec<_> = workload.options.iter().map(|opt| format!("--{}", opt.name)).collect();
    format!("{}: {}", workload.summary, options.join(" "))
}

fn workload_json(workload: &Workload) -> Value {
    let options: Vec<_> = workload.options.iter().map(option_json).collect();
    json!({ "name": workload.name, "summary": workload.summary, "options": options })
}

fn option_json(opt: &Opt) -> Value {
    let mut object = Map::new();
    object.insert("name".into(), json!(opt.name));
    object.insert("help".into(), json!(opt.help));
    match opt.kind {
        Kind::Integer { min, max, default } => {
            object.insert("min".into(), json!(min));
            object.insert("max".into(), json!(max));
            object.insert("default".into(), json!(default));
        }
        Kind::Choice(choices) => {
            object.insert("choices".into(), json!(choices));
            object.insert("default".into(), json!(choices[0]));
        }
        Kind::Path => {
            object.insert("default".into(), Value::Null);
        }
    }
    Value::Object(object)
}

fn family_json(family: &Family) -> Value {
    let member = |row: &Row| {
        json!({
            "name": row.name,
            "summary": row.summary,
            "source": row.source,
            "honours_priority": row.honours_priority,
            "default": row.name == family.default_member(),
        })
    };
    family.members.iter().map(member).collect()
}
