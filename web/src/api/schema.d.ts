/* Made by `npm run types` from the OpenAPI document with SHA-256 397cf5ffc12e582570564cf22d6549641dd594db100f0bdb85d6671b1c25c4f4. Not to be edited. */

export interface paths {
    "/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The page
         * @description Opened as `/#token=...` it trades the token for a session and forgets it.
         */
        get: operations["read_page"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/assets/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A file of the page */
        get: operations["read_asset"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Whether work goes on: 200 {"status": "ok"}, or 503 {"status": "stalled"}
         * @description Also 200 while the server starts. `/readyz` tells more, to who has the token.
         */
        get: operations["read_health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Figures for Prometheus */
        get: operations["read_metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether new work is taken and done: 200, or 503 with the checks that fail */
        get: operations["read_ready"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/cache": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Tell how much is remembered */
        get: operations["read_cache"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/cache/clear": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Forget what is remembered and not in use; the entries of `disk_cache` nodes stay, unless asked for */
        post: operations["clear_cache"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/cache/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Read everything that is kept and check it. Takes as long as reading it; jobs go on meanwhile
         * @description It goes on when the client has gone, and asking again then is answered anew.
         */
        post: operations["verify_cache"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/devices": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List devices, what they do and how much memory they hold. While no engine runs, places are empty */
        get: operations["list_devices"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/devices/free": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Drop what devices hold and nothing uses now. The next job that needs it loads it again */
        post: operations["free_memory"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/docs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This interface as a page for people */
        get: operations["read_docs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/drafts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the drafts */
        get: operations["list_drafts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/drafts/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a draft */
        get: operations["read_draft"];
        /**
         * Keep a draft under an id that the page chose. It survives a crash of page and server
         * @description One that exists is replaced only with If-Match and its ETag, so that two pages do not overwrite each other.
         */
        put: operations["save_draft"];
        post?: never;
        /** Forget a draft: it was saved as a workflow, or given up */
        delete: operations["delete_draft"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow every job's state, and the queue
         * @description First a `snapshot` with the running jobs and the queue, then `job`, `end`, `deleted` and `queue` events.
         */
        get: operations["all_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/files": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the files, newest first */
        get: operations["list_files"];
        put?: never;
        /**
         * Send a file: its bytes as they are, its name in a header
         * @description The same content again is the same file. It is kept while a job or a saved workflow names it, and for a day otherwise.
         */
        post: operations["upload_file"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/files/{sha256}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Tell whether a file is here, and what it is. HEAD tells the same by its status */
        get: operations["read_file"];
        put?: never;
        post?: never;
        /** Delete a file that no job and no saved workflow names */
        delete: operations["delete_file"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/files/{sha256}/content": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Download a file, or a part of it. Only raster pictures and videos are shown in place; all else is an attachment */
        get: operations["download_file"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/files/{sha256}/thumbnail": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A small WebP of an uploaded picture */
        get: operations["file_thumbnail"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/files/{sha256}/workflow": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Read the workflow that an uploaded PNG or WebP carries. It is read as strictly as any other, and never run by this */
        post: operations["file_workflow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/images/edits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Draw pictures from a picture with a saved workflow, and wait for them
         * @description The fields of /v1/images/generations as parts, and the files `image` and `mask`, which go to the named inputs of these
         *     names. Files are kept as by POST /v1/files. A node `load_mask` reads a mask as OpenAI's API wants it: transparent places
         *     are drawn anew; of one without transparency the white ones. Without `mask` the workflow's own is used.
         */
        post: operations["edit_images"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/images/generations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Draw pictures with a saved workflow, and wait for them
         * @description Either all `n` jobs are accepted, or none is. Waits at most as long as the setting `images_wait_s` says; then it answers
         *     503 `not_ready_in_time` with the jobs' ids while the jobs go on. They also go on if the client goes away. Sent again with
         *     the same Idempotency-Key, it waits for the jobs of the first time; without a key it would draw anew, so that answer says
         *     `X-Should-Retry: false`.
         */
        post: operations["generate_images"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List jobs, newest first */
        get: operations["list_jobs"];
        put?: never;
        /**
         * Accept a job
         * @description It is on disk before this answers: an accepted job reaches exactly one final state, whatever dies meanwhile. Sent
         *     again with the same Idempotency-Key, the answer is 200 with the job of the first time and `Idempotency-Replayed: true`.
         */
        post: operations["create_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a job: its state, its nodes' states and times, its place in the queue, its outputs */
        get: operations["read_job"];
        put?: never;
        post?: never;
        /** Forget a job that has ended. Its outputs stay in the gallery */
        delete: operations["delete_job"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a job
         * @description A queued one is cancelled in the answer; of a running one the answer still says `running`, and it ends at its next
         *     step. A job that has ended is left as it is (409, with its `state`).
         */
        post: operations["cancel_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{id}/document": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the workflow document that the job runs: the frozen copy, named inputs set */
        get: operations["read_job_document"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow a job
         * @description First a `snapshot` with every node's row, then `job`, `planned`, `cached`, `node`, `progress` and `note` events, and
         *     `end` last, after which the stream closes. Every event says all there is to say of its node. A comment is sent every
         *     15 seconds. Readers that do not read are disconnected. After `end` a reconnect with its id is answered 204.
         */
        get: operations["job_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{id}/move": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Move a queued job before or after another of the same client, or change a job's priority */
        post: operations["move_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{id}/nodes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the rows of a job's nodes in pages, or those of a mapped node's elements */
        get: operations["read_nodes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Accept a new job from an ended one's frozen copy
         * @description Same document, inputs, targets and seeds, so it draws the same picture; what is remembered is not run again.
         */
        post: operations["retry_job"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/jobs/{id}/values/{node}/{port}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Look at what a port held: a picture as WebP or PNG, a text or number as JSON, tensors by shape, dtype and range
         * @description A `/` in a node's path is written `%2F`. What is not kept any more is refused with what to do.
         */
        get: operations["read_value"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/limits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the limits of this server */
        get: operations["read_limits"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the models that workflows can name */
        get: operations["list_all_models"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models/{maker}/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read one model of a maker's folder */
        get: operations["read_makers_model"];
        put?: never;
        post?: never;
        /** Remove a model of a maker's folder, as above */
        delete: operations["remove_makers_model"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read one model */
        get: operations["read_model"];
        put?: never;
        post?: never;
        /**
         * Remove a model from the data folder for good
         * @description Refused while a queued or running job names it (409, with the `job`) or devices hold weights of it (409, with the
         *     `devices`; POST /v1/devices/free frees them), and for models that lie elsewhere (403). Jobs that name it are refused
         *     until it is decided and done.
         */
        delete: operations["remove_model"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/nodes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the node types with their inputs, outputs and JSON Schemas
         * @description `fits` is the rule for links. A mapped node's outputs become lists. T stands for any type: all inputs T of a node take
         *     the same one, and its outputs T give it.
         */
        get: operations["list_nodes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/nodes/{pack}/{type}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read one node type of a pack */
        get: operations["read_pack_node"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/nodes/{type}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read one built-in node type, by its id or a former one */
        get: operations["read_node"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This interface as an OpenAPI 3.1 document */
        get: operations["read_openapi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/outputs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List what was saved, newest first. Only whole outputs are listed, and only these count for limit, offset and pages */
        get: operations["list_outputs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/outputs/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read an output with its settings and the run that made it */
        get: operations["read_output"];
        put?: never;
        post?: never;
        /** Delete an output: its file, what was noted of it, its thumbnails and its star */
        delete: operations["delete_output"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/outputs/{id}/file": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Download an output, or a part of it. Only raster pictures and videos are shown in place; all else is an attachment */
        get: operations["download_output"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/outputs/{id}/star": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Mark an output with a star */
        put: operations["star_output"];
        post?: never;
        /** Take the star away */
        delete: operations["unstar_output"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/outputs/{id}/thumbnail": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A small WebP of an output that is a picture */
        get: operations["output_thumbnail"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/outputs/{id}/workflow": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the workflow that an output was made with, to load it again */
        get: operations["output_workflow"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/queue": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the queue in numbers, and which jobs are next */
        get: operations["read_queue"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/queue/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Start no more jobs until `resume`, also after a restart; what runs goes on, and new jobs are accepted */
        post: operations["pause_queue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/queue/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Start jobs again */
        post: operations["resume_queue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/server": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What this server is, and its limits */
        get: operations["read_server"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Who one is: a client with the token, or a page with a session */
        get: operations["read_session"];
        put?: never;
        /**
         * Open a session with the token: sets a cookie for this browser
         * @description The cookie is HttpOnly and SameSite=Strict, lasts 30 days and is good after a restart of the server.
         */
        post: operations["open_session"];
        /** Close the session: the cookie is taken away and not taken again */
        delete: operations["close_session"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/settings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the settings, their values and where these come from */
        get: operations["list_settings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/settings/page": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the page's preferences; an empty object before anything was kept */
        get: operations["read_preferences"];
        /** Keep the page's preferences, the whole object. With If-Match only over that version */
        put: operations["save_preferences"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/workflow.schema.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the JSON Schema of workflow documents */
        get: operations["read_workflow_schema"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/workflows": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the saved workflows and the shipped templates */
        get: operations["list_workflows"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/workflows/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a saved workflow's document
         * @description A file that is no workflow is refused with its problems; .../file gives its bytes.
         */
        get: operations["read_workflow"];
        /**
         * Save a workflow under this name; what it replaces becomes a version
         * @description One that exists is replaced only with If-Match and its ETag (428 without, 412 if it was changed meanwhile, by whomever).
         *     Node types that this machine does not know are taken; the document's form must be right. A template of this name stays,
         *     and yours counts from then on.
         */
        put: operations["save_workflow"];
        post?: never;
        /** Delete a saved workflow; its versions stay, so that restore brings it back. Jobs made from it go on */
        delete: operations["delete_workflow"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/workflows/{name}/copy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Copy a workflow, or a template, to a name that is free */
        post: operations["copy_workflow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/workflows/{name}/file": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Download a saved workflow's file, whatever it holds */
        get: operations["download_workflow"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/workflows/{name}/rename": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Give a workflow and its versions another name that is free */
        post: operations["rename_workflow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/workflows/{name}/restore": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Make an earlier version the newest one. A deleted workflow comes back without If-Match */
        post: operations["restore_version"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/workflows/{name}/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the versions of a workflow, newest first: the current one and the last 50 it replaced; of a deleted one too */
        get: operations["list_versions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/workflows/{name}/versions/{version}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read one version's document */
        get: operations["read_version"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/workflows/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Tell what a run would do: what is remembered, what runs and where, how long, how much memory. Draws no seeds */
        post: operations["plan_workflow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/workflows/validate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Check a workflow and tell every problem; runs nothing and needs no engine
         * @description Files and models that it names and this machine does not have are problems too. POST /v1/jobs refuses what this does, but
         *     for models: a job may wait for one that is still to come, and fails if it is not there when the job's turn has come.
         */
        post: operations["validate_workflow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/workflows/why": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Tell why a node would run again, or why not */
        post: operations["why_node"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/ws": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Open the WebSocket
         * @description Binary messages, each a msgpack map. From the client: `{"do": "subscribe", "jobs": [ids] | "all", "previews": bool}`,
         *     `unsubscribe`, `ping`. From the server: `{"event": ...}`: hello, snapshot, job, planned, cached, node, progress,
         *     preview, note, queue, end, deleted, error, pong. Who follows "all" also gets `workflows` with the `names` of saved
         *     workflows that were made, changed or removed, by whomever. Closed with 1008 for what is no command or too many
         *     messages, 1009 for a message over 64 KiB, 1013 for a client that does not read, 1001 when the server stops.
         */
        get: operations["open_socket"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * CacheView
         * @description How much is kept.
         */
        CacheView: {
            /** Disk Cache */
            disk_cache: {
                [key: string]: components["schemas"]["FolderView"];
            };
            memo: components["schemas"]["MemoView"];
        };
        /**
         * CarriedWorkflow
         * @description What a picture carries. It was not run, and nothing was installed for it.
         */
        CarriedWorkflow: {
            /**
             * Workflow
             * @description The document, as POST /v1/jobs and PUT /v1/workflows/{name} take it.
             */
            workflow: {
                [key: string]: unknown;
            };
        };
        /**
         * CheckedFolder
         * @description What was read of a `disk_cache` folder.
         */
        CheckedFolder: {
            /** Bytes */
            bytes: number;
            /** Entries */
            entries: number;
            /**
             * Made With Others
             * @description Entries made with library versions or devices that are not here now, which are still used: how many, by what differs.
             */
            made_with_others: {
                [key: string]: number;
            };
        };
        /**
         * CheckedMemo
         * @description What was read of the memo.
         */
        CheckedMemo: {
            /** Bytes */
            bytes: number;
            /** Files */
            files: number;
        };
        /**
         * CheckView
         * @description One thing that must hold.
         */
        CheckView: {
            /** Message */
            message: string;
            /** Name */
            name: string;
            /** Ok */
            ok: boolean;
        };
        /**
         * ClearedView
         * @description How much that freed.
         */
        ClearedView: {
            /** Freed Bytes */
            freed_bytes: number;
        };
        /**
         * ClearRequest
         * @description What is to be forgotten.
         */
        ClearRequest: {
            /**
             * Disk Cache
             * @description The entries of `disk_cache` nodes too.
             * @default false
             */
            disk_cache?: boolean;
        };
        /**
         * DevicesView
         * @description Devices and their memory, as the engine last told.
         */
        DevicesView: {
            /**
             * Devices
             * @description The devices in use, known once the engine is ready.
             */
            devices: string[];
            /**
             * Engine
             * @description ready, starting, waiting (it died and is started again), stopping, stopped.
             */
            engine: string;
            /** Environment */
            environment: string;
            /**
             * Facts
             * @description Further figures in bytes: "memo_bytes", "ram_bytes", ...
             */
            facts: {
                [key: string]: unknown;
            };
            /** Places */
            places: components["schemas"]["PlaceView"][];
        };
        /**
         * DraftBody
         * @description What is to be kept.
         */
        DraftBody: {
            /**
             * Base
             * @description ETag of the version it was begun from.
             * @default null
             */
            base?: string | null;
            /**
             * Closed
             * @description Whether its tab was closed: pages list it, and do not open it by themselves.
             * @default false
             */
            closed?: boolean;
            /**
             * Document
             * @description Whatever is being edited; it need not be a valid workflow.
             */
            document: {
                [key: string]: unknown;
            };
            /**
             * Workflow
             * @description The saved workflow it changes; null for one without a name.
             * @default null
             */
            workflow?: string | null;
        };
        /**
         * DraftEntryView
         * @description A row of the list.
         */
        DraftEntryView: {
            /** Base */
            base: string | null;
            /** Closed */
            closed: boolean;
            /** Etag */
            etag: string;
            /** Id */
            id: string;
            /** Modified */
            modified: number;
            /**
             * Problem
             * @description Why its file cannot be read.
             */
            problem: string | null;
            /** Size Bytes */
            size_bytes: number;
            /** Title */
            title: string;
            /** Workflow */
            workflow: string | null;
        };
        /**
         * DraftList
         * @description All drafts, the last saved first.
         */
        DraftList: {
            /** Drafts */
            drafts: components["schemas"]["DraftEntryView"][];
        };
        /**
         * DraftSaved
         * @description What was kept.
         */
        DraftSaved: {
            /** Etag */
            etag: string;
            /** Id */
            id: string;
            /** Modified */
            modified: number;
        };
        /**
         * DraftView
         * @description A draft. Times are seconds since 1970.
         */
        DraftView: {
            /** Base */
            base: string | null;
            /** Closed */
            closed: boolean;
            /** Document */
            document: {
                [key: string]: unknown;
            };
            /** Etag */
            etag: string;
            /** Id */
            id: string;
            /** Modified */
            modified: number;
            /** Workflow */
            workflow: string | null;
        };
        /**
         * FieldError
         * @description One value of a request that cannot be used.
         */
        FieldError: {
            /** Message */
            message: string;
            /**
             * Pointer
             * @description Place in the body (RFC 6901), or the parameter's name.
             */
            pointer: string;
        };
        /**
         * FilePage
         * @description Files, newest first.
         */
        FilePage: {
            /** Files */
            files: components["schemas"]["FileView"][];
            /**
             * Next
             * @description `cursor` of the next page; null on the last.
             */
            next: string | null;
        };
        /**
         * FileView
         * @description An uploaded file.
         */
        FileView: {
            /**
             * Created
             * @description When it came or was last named, in seconds since 1970.
             */
            created: number;
            /**
             * Kind
             * @description Decided by its bytes, not by its name.
             * @enum {string}
             */
            kind: "image" | "video" | "curve" | "other";
            /**
             * Name
             * @description For show; cleaned of what could mislead.
             */
            name: string;
            /**
             * Sha256
             * @description Its id: what a workflow names it by, beside its name.
             */
            sha256: string;
            /** Size */
            size: number;
        };
        /**
         * FolderView
         * @description A folder of `disk_cache` nodes.
         */
        FolderView: {
            /** Bytes */
            bytes: number;
            /** Entries */
            entries: number;
        };
        /**
         * FreedView
         * @description What that gave back.
         */
        FreedView: {
            /**
             * Freed Bytes
             * @description Bytes of weights by device, and under "ram" of values. Devices that are at a node are left out.
             */
            freed_bytes: {
                [key: string]: number;
            };
        };
        /**
         * FreeRequest
         * @description Whose memory is to be given back.
         */
        FreeRequest: {
            /**
             * Device
             * @description One device; null: all.
             * @default null
             */
            device?: string | null;
        };
        /**
         * ImagesRequest
         * @description What is to be drawn. Fields that are not here are named inputs of the workflow: `seed`, `steps`, ...
         * @example {
         *       "model": "mini_text_to_image",
         *       "prompt": "a small green ring on a white background",
         *       "size": "64x64"
         *     }
         */
        ImagesRequest: {
            /**
             * Model
             * @description Name of a saved workflow.
             */
            model: string;
            /**
             * N
             * @description So many jobs, with the seeds seed, seed + 1, ...
             * @default 1
             */
            n?: number;
            /**
             * Prompt
             * @description Goes to the named input `prompt`.
             */
            prompt: string;
            /**
             * Response Format
             * @default b64_json
             * @enum {string}
             */
            response_format?: "b64_json" | "url";
            /**
             * Size
             * @description Width x height in pixels: goes to the named inputs `width` and `height`, or `size`; auto: as the workflow has it.
             * @default auto
             */
            size?: string;
            /**
             * User
             * @description Not used.
             * @default null
             */
            user?: string | null;
        } & {
            [key: string]: unknown;
        };
        /**
         * ImagesView
         * @description The pictures, in the order of their seeds.
         */
        ImagesView: {
            /** Created */
            created: number;
            /** Data */
            data: components["schemas"]["ImageView"][];
        };
        /**
         * ImageView
         * @description One picture: its content, or its address on this server.
         */
        ImageView: {
            /** B64 Json */
            b64_json?: string;
            /** Url */
            url?: string;
        };
        /**
         * JobPage
         * @description Jobs, newest first.
         */
        JobPage: {
            /** Jobs */
            jobs: components["schemas"]["JobSummary"][];
            /**
             * Next
             * @description `cursor` of the next page; null on the last.
             */
            next: number | null;
        };
        /**
         * JobRequest
         * @description What is to run.
         * @example {
         *       "inputs": {
         *         "prompt": "a small green ring on a white background"
         *       },
         *       "workflow": "mini_text_to_image"
         *     }
         */
        JobRequest: {
            /**
             * Client
             * @description Who asks, for fairness between clients. It gives no rights.
             * @default null
             */
            client?: string | null;
            /**
             * Inputs
             * @description Values of the workflow's named inputs.
             */
            inputs?: {
                [key: string]: unknown;
            };
            /**
             * Priority
             * @description Higher goes first.
             * @default 0
             */
            priority?: number;
            /**
             * Targets
             * @description Nodes ("node") or ports ("node.port") that are wanted; without: the named outputs and every effect.
             * @default null
             */
            targets?: string[] | null;
            /**
             * Webhook
             * @description Name of a webhook of the settings file that is told of the end.
             * @default null
             */
            webhook?: string | null;
            /**
             * Workflow
             * @description A workflow document, or the name of a saved workflow.
             */
            workflow: {
                [key: string]: unknown;
            } | string;
        };
        /**
         * JobSummary
         * @description A job. Times are seconds since 1970.
         */
        JobSummary: {
            /** Client */
            client: string;
            /** Created */
            created: number;
            /** Ended */
            ended: number | null;
            /**
             * Estimated Seconds
             * @description Estimated device-seconds of the job itself, from past times of its node types.
             */
            estimated_seconds: number;
            /** Id */
            id: string;
            /** Inputs */
            inputs: {
                [key: string]: unknown;
            };
            links: components["schemas"]["Links"];
            /**
             * Position
             * @description Place in the queue as it is expected now, 1 is next; null if it does not wait or more than 1000 jobs are before it.
             */
            position: number | null;
            /** Priority */
            priority: number;
            /**
             * Problem
             * @description Why it failed: a problem document.
             */
            problem: {
                [key: string]: unknown;
            } | null;
            /** Retry Of */
            retry_of: string | null;
            /**
             * Seconds
             * @description How long it ran; null until it has ended.
             */
            seconds: number | null;
            /**
             * Seeds
             * @description The drawn seeds by "node.port": they stay the same in a retry.
             */
            seeds: {
                [key: string]: number;
            };
            /** Started */
            started: number | null;
            /**
             * State
             * @enum {string}
             */
            state: "queued" | "running" | "done" | "failed" | "cancelled";
            /** Targets */
            targets: string[] | null;
            /**
             * Tries
             * @description Tries in a row that ended with the death of a process; at 3 the job is failed.
             */
            tries: number;
            /** Webhook */
            webhook: string | null;
            /**
             * Workflow
             * @description The saved workflow's name, or the document's own.
             */
            workflow: string;
        };
        /**
         * JobView
         * @description A job with what became of its nodes and its outputs.
         */
        JobView: {
            /**
             * Absent
             * @description Named outputs that do not exist, and why.
             */
            absent: {
                [key: string]: string;
            };
            /** Client */
            client: string;
            /**
             * Counts
             * @description How many nodes are in each state.
             */
            counts: {
                [key: string]: number;
            };
            /** Created */
            created: number;
            /** Device Seconds */
            device_seconds: number | null;
            /** Ended */
            ended: number | null;
            /**
             * Estimated Seconds
             * @description Estimated device-seconds of the job itself, from past times of its node types.
             */
            estimated_seconds: number;
            /** Id */
            id: string;
            /** Inputs */
            inputs: {
                [key: string]: unknown;
            };
            links: components["schemas"]["Links"];
            /**
             * Messages
             * @description Sentences about the run as a whole.
             */
            messages: string[];
            /**
             * Nodes
             * @description One row per node, at most 1000; see `omitted`.
             */
            nodes: components["schemas"]["NodeRow"][];
            /**
             * Omitted
             * @description How many more rows `/v1/jobs/{id}/nodes` has.
             */
            omitted: number;
            /**
             * Outputs
             * @description The named outputs, once it has ended: plain values, other values described.
             */
            outputs: {
                [key: string]: unknown;
            };
            /**
             * Position
             * @description Place in the queue as it is expected now, 1 is next; null if it does not wait or more than 1000 jobs are before it.
             */
            position: number | null;
            /** Priority */
            priority: number;
            /**
             * Problem
             * @description Why it failed: a problem document.
             */
            problem: {
                [key: string]: unknown;
            } | null;
            /** Retry Of */
            retry_of: string | null;
            /**
             * Seconds
             * @description How long it ran; null until it has ended.
             */
            seconds: number | null;
            /**
             * Seeds
             * @description The drawn seeds by "node.port": they stay the same in a retry.
             */
            seeds: {
                [key: string]: number;
            };
            /** Started */
            started: number | null;
            /**
             * State
             * @enum {string}
             */
            state: "queued" | "running" | "done" | "failed" | "cancelled";
            /** Targets */
            targets: string[] | null;
            /**
             * Tries
             * @description Tries in a row that ended with the death of a process; at 3 the job is failed.
             */
            tries: number;
            /** Webhook */
            webhook: string | null;
            /**
             * Workflow
             * @description The saved workflow's name, or the document's own.
             */
            workflow: string;
        };
        /**
         * Limits
         * @description How large what is sent may be. Above it: 413, for counts and sizes of jobs 429 or 422.
         */
        Limits: {
            /**
             * Body Bytes
             * @description Of any JSON body.
             */
            body_bytes: number;
            /** Client Characters */
            client_characters: number;
            /** Connections */
            connections: number;
            /** Connections Per Address */
            connections_per_address: number;
            /** Draft Bytes */
            draft_bytes: number;
            /** Drafts */
            drafts: number;
            /** Idempotency Key Characters */
            idempotency_key_characters: number;
            /**
             * Images
             * @description `n` of a request to /v1/images.
             */
            images: number;
            /**
             * Inputs
             * @description Named inputs that a job sets.
             */
            inputs: number;
            /**
             * Integer
             * @description Integers beyond this are refused: other programs round them.
             */
            integer: number;
            /** Json Depth */
            json_depth: number;
            /** Kept Jobs */
            kept_jobs: number;
            /**
             * Node Seconds
             * @description A node may run so long, unless `node_seconds_by_type` says otherwise.
             */
            node_seconds: number;
            /** Node Seconds By Type */
            node_seconds_by_type: {
                [key: string]: number;
            };
            /** Pixels */
            pixels: number;
            /** Preferences Bytes */
            preferences_bytes: number;
            /**
             * Priority
             * @description Priorities go from minus this to this.
             */
            priority: number;
            /** Queued Jobs */
            queued_jobs: number;
            /** Queued Seconds */
            queued_seconds: number;
            /** Subgraph Nesting */
            subgraph_nesting: number;
            /**
             * Targets
             * @description Targets that a job names.
             */
            targets: number;
            /**
             * Text Characters
             * @description Of one text that a node is given.
             */
            text_characters: number;
            /**
             * Unfolded Nodes
             * @description After subgraphs are unfolded.
             */
            unfolded_nodes: number;
            /** Upload Bytes */
            upload_bytes: number;
            /** Uploads Bytes */
            uploads_bytes: number;
            /** Versions */
            versions: number;
            /**
             * Workflow File Bytes
             * @description Larger files in the workflows folder are listed and not read.
             */
            workflow_file_bytes: number;
            /** Workflow Nodes */
            workflow_nodes: number;
            /** Workflows */
            workflows: number;
        };
        /**
         * LimitsView
         * @description What is refused beyond.
         */
        LimitsView: {
            /** Images Wait S */
            images_wait_s: number;
            /** Max Body Bytes */
            max_body_bytes: number;
            /** Max Header Bytes */
            max_header_bytes: number;
            /** Max Json Depth */
            max_json_depth: number;
            /** Max Nodes */
            max_nodes: number;
            /** Max Pixels */
            max_pixels: number;
            /** Max Queued Jobs */
            max_queued_jobs: number;
            /** Max Queued S */
            max_queued_s: number;
            /** Max Upload Bytes */
            max_upload_bytes: number;
        };
        /**
         * Links
         * @description Addresses of a job.
         */
        Links: {
            /** Cancel */
            cancel: string;
            /** Document */
            document: string;
            /** Events */
            events: string;
            /** Nodes */
            nodes: string;
            /** Retry */
            retry: string;
            /** Self */
            self: string;
        };
        /**
         * MemoView
         * @description Results of nodes that are remembered.
         */
        MemoView: {
            /** Bytes */
            bytes: number;
            /** Limit Bytes */
            limit_bytes: number;
            /** Objects */
            objects: number;
            /**
             * Quarantined
             * @description Damaged files that were set aside.
             */
            quarantined: number;
            /** Table Bytes */
            table_bytes: number;
        };
        /**
         * ModelList
         * @description All models, by name.
         */
        ModelList: {
            /** Models */
            models: components["schemas"]["ModelView"][];
        };
        /**
         * ModelView
         * @description A model that workflows can name.
         */
        ModelView: {
            /**
             * Can Be Removed
             * @description Whether DELETE takes it: it lies in the data folder itself.
             */
            can_be_removed: boolean;
            /** Name */
            name: string;
            /**
             * Pipeline
             * @description The class that its model_index.json names.
             */
            pipeline: string;
            /** Size Bytes */
            size_bytes: number;
            /**
             * Where
             * @enum {string}
             */
            where: "data folder" | "elsewhere" | "shipped";
        };
        /**
         * MoveRequest
         * @description Where a queued job is to go, or its new priority: one of the three.
         */
        MoveRequest: {
            /**
             * After
             * @description Directly after it.
             * @default null
             */
            after?: string | null;
            /**
             * Before
             * @description Directly before this queued job of the same client.
             * @default null
             */
            before?: string | null;
            /**
             * Priority
             * @default null
             */
            priority?: number | null;
        };
        /**
         * NewName
         * @description Another name.
         */
        NewName: {
            /** Name */
            name: string;
        };
        /**
         * NodePage
         * @description Rows of nodes, or of a mapped node's elements.
         */
        NodePage: {
            /**
             * Next
             * @description `offset` of the next page; null on the last.
             */
            next: number | null;
            /** Rows */
            rows: components["schemas"]["NodeRow"][];
            /** Total */
            total: number;
        };
        /**
         * NodeRow
         * @description How far a node is. Members that say nothing are left out.
         */
        NodeRow: {
            /** Code */
            code?: string;
            /** Device */
            device?: string;
            /** Element */
            element?: number;
            /** Elements */
            elements?: {
                [key: string]: number;
            };
            /** Id */
            id: string;
            /** Message */
            message?: string;
            /** Note */
            note?: string;
            progress?: components["schemas"]["ProgressFacts"];
            /** Seconds */
            seconds?: number;
            /**
             * State
             * @enum {string}
             */
            state: "waiting" | "cached" | "running" | "done" | "failed" | "skipped" | "cancelled";
            /** Type */
            type: string;
        };
        /**
         * NodesView
         * @description Everything known of node types.
         */
        NodesView: {
            /**
             * Fits
             * @description By an output's type, by an input's: "direct", or "map" (a list: the node runs once per element). What is not there does not fit.
             */
            fits: {
                [key: string]: {
                    [key: string]: string;
                };
            };
            /** Nodes */
            nodes: components["schemas"]["NodeTypeView"][];
            /** Packs */
            packs: components["schemas"]["PackView"][];
            /** Types */
            types: components["schemas"]["WireTypeView"][];
            /**
             * Version
             * @description Changes when any of it does.
             */
            version: string;
        };
        /**
         * NodeTypeView
         * @description A node type.
         */
        NodeTypeView: {
            /** Borrows */
            borrows: string[];
            /** Cache */
            cache: boolean;
            /** Category */
            category: string;
            /** Devices */
            devices: number;
            /** Doc */
            doc: string;
            /**
             * Effect
             * @description Whether it is run for what it does: it always runs, and is never remembered.
             */
            effect: boolean;
            /** Id */
            id: string;
            /** Inputs */
            inputs: components["schemas"]["PortView"][];
            /**
             * Light
             * @description Whether planning evaluates it.
             */
            light: boolean;
            /**
             * Node Schema
             * @description JSON Schema of a node of this type as it stands in a workflow.
             */
            node_schema: {
                [key: string]: unknown;
            };
            /** Outputs */
            outputs: components["schemas"]["server__api__routes__nodes__OutputView"][];
            /** Pack */
            pack: string | null;
            /** Persist */
            persist: boolean;
            /** Place */
            place: string;
            /** Title */
            title: string;
            /** Version */
            version: number;
            /** Was */
            was: string[];
        };
        /**
         * OutputLinks
         * @description Addresses of an output.
         */
        OutputLinks: {
            /** File */
            file: string;
            /**
             * Job
             * @description Null for one of the command line.
             */
            job: string | null;
            /** Self */
            self: string;
            /** Thumbnail */
            thumbnail: string;
            /** Workflow */
            workflow: string;
        };
        /**
         * OutputPage
         * @description Outputs, newest first.
         */
        OutputPage: {
            /**
             * Next
             * @description `cursor` of the next page; null on the last.
             */
            next: string | null;
            /** Outputs */
            outputs: components["schemas"]["OutputSummary"][];
        };
        /**
         * OutputSummary
         * @description An output of a node. What its settings do not say is null; times are seconds since 1970.
         */
        OutputSummary: {
            /** Created */
            created: number;
            /** File */
            file: string;
            /** Height */
            height: number | null;
            /** Id */
            id: string;
            /** Job */
            job: string | null;
            /** Kind */
            kind: string;
            links: components["schemas"]["OutputLinks"];
            /** Model */
            model: string | null;
            /** Prompt */
            prompt: string | null;
            /** Seed */
            seed: number | null;
            /** Starred */
            starred: boolean;
            /** Width */
            width: number | null;
            /** Workflow */
            workflow: string;
        };
        /**
         * PackView
         * @description An installed pack of nodes; `problem` says why it gives none.
         */
        PackView: {
            /** Distribution */
            distribution: string;
            /** Name */
            name: string;
            /** Nodes */
            nodes: number;
            /** Problem */
            problem: string | null;
            /** Version */
            version: string;
        };
        /**
         * PlaceView
         * @description A process that works: one per device, and those of the host.
         */
        PlaceView: {
            /**
             * Budget Bytes
             * @default null
             */
            budget_bytes?: number | null;
            /**
             * Job
             * @default null
             */
            job?: string | null;
            /**
             * Message
             * @default null
             */
            message?: string | null;
            /**
             * Name
             * @description "cuda:0", "cpu", "host:0", ...
             */
            name: string;
            /**
             * Node
             * @default null
             */
            node?: string | null;
            /**
             * Resident Bytes
             * @description What is kept in the device's memory.
             * @default null
             */
            resident_bytes?: number | null;
            /**
             * Restarts
             * @default 0
             */
            restarts?: number;
            /**
             * State
             * @description idle, busy, starting, waiting, disabled.
             */
            state: string;
        };
        /**
         * PlannedNodeView
         * @description What would happen to a node.
         */
        PlannedNodeView: {
            /** Id */
            id: string;
            /** Peak Bytes */
            peak_bytes: number | null;
            /** Place */
            place: string;
            /** Reason */
            reason: string;
            /**
             * Running
             * @description How many of its tasks (elements of a mapped node) would run.
             */
            running: number;
            /**
             * Seconds
             * @description From past runs; null before the first.
             */
            seconds: number | null;
            /**
             * State
             * @description cached, run, skipped, ...
             */
            state: string;
            /** Tasks */
            tasks: number;
            /** Type */
            type: string;
        };
        /**
         * PlanView
         * @description What a run would do.
         */
        PlanView: {
            /**
             * Absent
             * @description Named outputs that would not be there, and why.
             */
            absent: {
                [key: string]: string;
            };
            /** Nodes */
            nodes: components["schemas"]["PlannedNodeView"][];
            /**
             * Peak Bytes
             * @description By place.
             */
            peak_bytes: {
                [key: string]: number;
            };
            /** Seconds */
            seconds: number | null;
        };
        /**
         * PortView
         * @description An input of a node type.
         */
        PortView: {
            /**
             * Default
             * @description Only there if the input has one.
             * @default null
             */
            default?: unknown;
            /** Doc */
            doc: string;
            /**
             * Hint
             * @description What the value may be: {"hint": "range" | "choice" | "text" | "seed" | "file" | "model", ...}.
             * @default null
             */
            hint?: {
                [key: string]: unknown;
            } | null;
            /** Name */
            name: string;
            /** Optional */
            optional: boolean;
            /**
             * Type
             * @description Wire type: a name, list[name], or T for any.
             */
            type: string;
            /** Was */
            was: string[];
        };
        /**
         * PreferencesBody
         * @description The page's preferences: any JSON object of at most 64 KiB.
         */
        PreferencesBody: {
            [key: string]: unknown;
        };
        /**
         * ProblemDocument
         * @description A refusal (RFC 9457): what was found, where, and what to do.
         */
        ProblemDocument: {
            /**
             * Code
             * @description Stable: programs go by it.
             */
            code: string;
            /** Detail */
            detail: string;
            /**
             * Errors
             * @default null
             */
            errors?: components["schemas"]["FieldError"][] | null;
            /**
             * Node
             * @default null
             */
            node?: string | null;
            /**
             * Pointer
             * @default null
             */
            pointer?: string | null;
            /**
             * Port
             * @default null
             */
            port?: string | null;
            /**
             * Problems
             * @default null
             */
            problems?: components["schemas"]["WorkflowProblem"][] | null;
            /**
             * Retry After S
             * @default null
             */
            retry_after_s?: number | null;
            /** Status */
            status: number;
            /** Title */
            title: string;
            /** Type */
            type: string;
        } & {
            [key: string]: unknown;
        };
        /**
         * ProgressFacts
         * @description Steps of a node that runs.
         */
        ProgressFacts: {
            /** Element */
            element?: number;
            /** Eta Seconds */
            eta_seconds: number | null;
            /** Step */
            step: number;
            /** Total */
            total: number;
        };
        /**
         * QueueView
         * @description The queue in numbers.
         */
        QueueView: {
            /** Is Draining */
            is_draining: boolean;
            /** Is Paused */
            is_paused: boolean;
            /** Most Jobs */
            most_jobs: number;
            /**
             * Most Seconds
             * @description More than these are refused with `queue_full`.
             */
            most_seconds: number;
            /**
             * Order
             * @description Ids of the jobs next in line, in the order they are expected to start; at most 200.
             */
            order: string[];
            /** Queued */
            queued: number;
            /** Running */
            running: number;
            /**
             * Seconds
             * @description Estimated device-seconds that wait or are under way.
             */
            seconds: number;
        };
        /**
         * ReadyView
         * @description Whether new work is taken and done.
         */
        ReadyView: {
            /** Checks */
            checks: components["schemas"]["CheckView"][];
            /** Ready */
            ready: boolean;
        };
        /**
         * ReasonView
         * @description One sentence about a node; `part` is the input, "code" or "environment" it is about, or empty.
         */
        ReasonView: {
            /** Message */
            message: string;
            /** Node */
            node: string;
            /** Part */
            part: string;
        };
        /**
         * RestoreRequest
         * @description Which version is to become the newest.
         */
        RestoreRequest: {
            /** Version */
            version: number;
        };
        /**
         * RetryRequest
         * @description Who asks for the job again.
         */
        RetryRequest: {
            /**
             * Client
             * @default null
             */
            client?: string | null;
        };
        /**
         * SavedView
         * @description What was saved.
         */
        SavedView: {
            /** Etag */
            etag: string;
            /** Modified */
            modified: number;
            /** Name */
            name: string;
            /**
             * Source
             * @enum {string}
             */
            source: "own" | "folder" | "template";
        };
        /**
         * OutputView
         * @description An output of a node type.
         */
        server__api__routes__nodes__OutputView: {
            /** Doc */
            doc: string;
            /** Name */
            name: string;
            /** Type */
            type: string;
        };
        /**
         * OutputView
         * @description An output with everything it was made with.
         */
        server__api__routes__outputs__OutputView: {
            /** Created */
            created: number;
            /** File */
            file: string;
            /** Height */
            height: number | null;
            /** Id */
            id: string;
            /** Job */
            job: string | null;
            /** Kind */
            kind: string;
            links: components["schemas"]["OutputLinks"];
            /** Model */
            model: string | null;
            /** Prompt */
            prompt: string | null;
            /**
             * Run
             * @description The resolved run: seeds, versions, keys. The workflow is at its own address.
             */
            run: {
                [key: string]: unknown;
            };
            /** Seed */
            seed: number | null;
            /** Settings */
            settings: {
                [key: string]: unknown;
            };
            /** Size */
            size: number;
            /** Starred */
            starred: boolean;
            /** Width */
            width: number | null;
            /** Workflow */
            workflow: string;
        };
        /**
         * ServerView
         * @description The server.
         */
        ServerView: {
            limits: components["schemas"]["LimitsView"];
            /**
             * Name
             * @constant
             */
            name: "latentgraph";
            /** Version */
            version: string;
        };
        /**
         * SessionRequest
         * @description The token, once.
         */
        SessionRequest: {
            /**
             * Token
             * Format: password
             */
            token: string;
        };
        /**
         * SessionView
         * @description Who one is to the server.
         */
        SessionView: {
            /**
             * Client
             * @description The name under which jobs are counted for fairness.
             */
            client: string;
            /**
             * Kind
             * @enum {string}
             */
            kind: "bearer" | "session";
        };
        /**
         * SettingList
         * @description Every setting.
         */
        SettingList: {
            /** Settings */
            settings: components["schemas"]["SettingView"][];
        };
        /**
         * SettingView
         * @description A setting; changed by file, variable or flag and a restart, never over HTTP.
         */
        SettingView: {
            /** Description */
            description: string;
            /** Name */
            name: string;
            /**
             * Source
             * @description Where the value comes from.
             * @enum {string}
             */
            source: "default" | "file" | "variable" | "flag";
            /**
             * Value
             * @description Folders and secrets are "set" or "not set".
             */
            value: boolean | number | string | string[] | {
                [key: string]: number;
            } | null;
        };
        /**
         * Validated
         * @description Whether it could run, and all that is in the way (the first 200 problems).
         */
        Validated: {
            /**
             * Nodes
             * @description How many nodes it has, subgraphs unfolded.
             */
            nodes: number;
            /** Problems */
            problems: components["schemas"]["WorkflowProblem"][];
            /** Valid */
            valid: boolean;
        };
        /**
         * ValidateRequest
         * @description What is to be checked.
         * @example {
         *       "inputs": {
         *         "seed": 8
         *       },
         *       "workflow": "mini_text_to_image"
         *     }
         */
        ValidateRequest: {
            /**
             * Inputs
             * @description Values of the workflow's named inputs.
             * @default {}
             */
            inputs?: {
                [key: string]: unknown;
            };
            /**
             * Workflow
             * @description A workflow document, or the name of a saved one.
             */
            workflow: {
                [key: string]: unknown;
            } | string;
        };
        /**
         * VerifiedView
         * @description What was read, and what of it is damaged: it was set aside, and is made again when it is needed.
         */
        VerifiedView: {
            /** Damaged */
            damaged: string[];
            /** Disk Cache */
            disk_cache: {
                [key: string]: components["schemas"]["CheckedFolder"];
            };
            memo: components["schemas"]["CheckedMemo"];
        };
        /**
         * VersionList
         * @description The versions of a workflow, newest first.
         */
        VersionList: {
            /** Versions */
            versions: components["schemas"]["VersionView"][];
        };
        /**
         * VersionView
         * @description A version; the current one has the highest number.
         */
        VersionView: {
            /** Current */
            current: boolean;
            /** Etag */
            etag: string;
            /** Modified */
            modified: number;
            /** Size Bytes */
            size_bytes: number;
            /** Version */
            version: number;
        };
        /**
         * WhyRequest
         * @description Which node is asked about.
         * @example {
         *       "inputs": {
         *         "seed": 8
         *       },
         *       "node": "denoise",
         *       "workflow": "mini_text_to_image"
         *     }
         */
        WhyRequest: {
            /**
             * Inputs
             * @default {}
             */
            inputs?: {
                [key: string]: unknown;
            };
            /** Node */
            node: string;
            /** Workflow */
            workflow: {
                [key: string]: unknown;
            } | string;
        };
        /**
         * WhyView
         * @description Why a node would run, or not.
         */
        WhyView: {
            /** Node */
            node: string;
            /** Reasons */
            reasons: components["schemas"]["ReasonView"][];
        };
        /**
         * WireTypeView
         * @description A wire type; plain ones (numbers, text, true or false) can be written into a workflow.
         */
        WireTypeView: {
            /** Name */
            name: string;
            /** Plain */
            plain: boolean;
        };
        /**
         * WorkflowBody
         * @description A workflow document; GET /v1/workflow.schema.json has its JSON Schema.
         * @example {
         *       "format": "latentgraph/workflow",
         *       "nodes": {
         *         "three": {
         *           "inputs": {
         *             "value": 3
         *           },
         *           "type": "number"
         *         }
         *       },
         *       "outputs": {
         *         "three": {
         *           "from": "three.value"
         *         }
         *       },
         *       "version": "1.0"
         *     }
         */
        WorkflowBody: {
            [key: string]: unknown;
        };
        /**
         * WorkflowEntry
         * @description A saved workflow. Times are seconds since 1970.
         */
        WorkflowEntry: {
            /** Description */
            description: string;
            /**
             * Etag
             * @description Version of its content, for If-Match.
             */
            etag: string;
            /** Inputs */
            inputs: string[];
            /** Missing Models */
            missing_models: string[] | null;
            /**
             * Missing Types
             * @description Node types that this machine does not have; null while the node types are not known yet.
             */
            missing_types: string[] | null;
            /** Modified */
            modified: number;
            /** Name */
            name: string;
            /** Nodes */
            nodes: number;
            /** Outputs */
            outputs: string[];
            /**
             * Problem
             * @description Why the file is no workflow; it can be read at .../file.
             */
            problem: string | null;
            /** Size Bytes */
            size_bytes: number;
            /**
             * Source
             * @description own: in the data folder; folder: in one the operator named; template: shipped, read-only.
             * @enum {string}
             */
            source: "own" | "folder" | "template";
            /** Title */
            title: string;
        };
        /**
         * WorkflowList
         * @description All saved workflows, by name.
         */
        WorkflowList: {
            /** Workflows */
            workflows: components["schemas"]["WorkflowEntry"][];
        };
        /**
         * WorkflowProblem
         * @description One thing wrong with a workflow.
         */
        WorkflowProblem: {
            /** Code */
            code: string;
            /** Message */
            message: string;
            /**
             * Node
             * @default null
             */
            node?: string | null;
            /**
             * Port
             * @default null
             */
            port?: string | null;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    read_page: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
        };
    };
    read_asset: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A file of the page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "*/*": string;
                };
            };
        };
    };
    read_health: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Whether work goes on: 200 {"status": "ok"}, or 503 {"status": "stalled"} */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
        };
    };
    read_metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Figures for Prometheus */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    read_ready: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Whether new work is taken and done: 200, or 503 with the checks that fail */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadyView"];
                };
            };
        };
    };
    read_cache: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Tell how much is remembered */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CacheView"];
                };
            };
        };
    };
    clear_cache: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ClearRequest"];
            };
        };
        responses: {
            /** @description Forget what is remembered and not in use; the entries of `disk_cache` nodes stay, unless asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClearedView"];
                };
            };
        };
    };
    verify_cache: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Read everything that is kept and check it. Takes as long as reading it; jobs go on meanwhile */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VerifiedView"];
                };
            };
        };
    };
    list_devices: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description List devices, what they do and how much memory they hold. While no engine runs, places are empty */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DevicesView"];
                };
            };
        };
    };
    free_memory: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["FreeRequest"];
            };
        };
        responses: {
            /** @description Drop what devices hold and nothing uses now. The next job that needs it loads it again */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FreedView"];
                };
            };
        };
    };
    read_docs: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description This interface as a page for people */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
        };
    };
    list_drafts: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description List the drafts */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DraftList"];
                };
            };
        };
    };
    read_draft: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag that is known: without a change the answer is 304. */
                "If-None-Match"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Read a draft */
            200: {
                headers: {
                    /** @description The version. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DraftView"];
                };
            };
        };
    };
    save_draft: {
        parameters: {
            query?: never;
            header?: {
                /** @description The version that is changed, as ETag gave it; "*" for any. */
                "If-Match"?: string;
                /** @description `*`: create only, replace nothing. */
                "If-None-Match"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DraftBody"];
            };
        };
        responses: {
            /** @description Keep a draft under an id that the page chose. It survives a crash of page and server */
            200: {
                headers: {
                    /** @description The version. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DraftSaved"];
                };
            };
        };
    };
    delete_draft: {
        parameters: {
            query?: never;
            header?: {
                /** @description The version that is changed, as ETag gave it; "*" for any. */
                "If-Match"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Forget a draft: it was saved as a workflow, or given up */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    all_events: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the last event that was received; what came since is sent, or a new snapshot. */
                "Last-Event-ID"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Follow every job's state, and the queue */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
        };
    };
    list_files: {
        parameters: {
            query?: {
                /** @description `next` of the page before. */
                cursor?: string | null;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description List the files, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FilePage"];
                };
            };
        };
    };
    upload_file: {
        parameters: {
            query?: never;
            header?: {
                /** @description The name that it is shown by: UTF-8, percent-encoded. It never becomes a path. */
                "X-File-Name"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/octet-stream": string;
            };
        };
        responses: {
            /** @description Send a file: its bytes as they are, its name in a header */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FileView"];
                };
            };
        };
    };
    read_file: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                sha256: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Tell whether a file is here, and what it is. HEAD tells the same by its status */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FileView"];
                };
            };
        };
    };
    delete_file: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                sha256: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Delete a file that no job and no saved workflow names */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    download_file: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag that is known: without a change the answer is 304. */
                "If-None-Match"?: string;
                /** @description The ETag (or date) for which the part is wanted; if it is another, the whole is sent. */
                "If-Range"?: string;
                /** @description One part: `bytes=0-99`, `bytes=100-`, `bytes=-100`. Other forms are ignored. */
                Range?: string;
            };
            path: {
                sha256: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Download a file, or a part of it. Only raster pictures and videos are shown in place; all else is an attachment */
            200: {
                headers: {
                    /** @description The version. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "*/*": string;
                };
            };
            /** @description The part that Range asks for. */
            206: {
                headers: {
                    /** @description The version. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "*/*": string;
                };
            };
        };
    };
    file_thumbnail: {
        parameters: {
            query?: {
                /** @description Pixels of the longer side, rounded up to 128, 256 or 512. */
                size?: number;
            };
            header?: {
                /** @description The ETag that is known: without a change the answer is 304. */
                "If-None-Match"?: string;
            };
            path: {
                sha256: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A small WebP of an uploaded picture */
            200: {
                headers: {
                    /** @description The version. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "image/webp": string;
                };
            };
        };
    };
    file_workflow: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                sha256: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Read the workflow that an uploaded PNG or WebP carries. It is read as strictly as any other, and never run by this */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CarriedWorkflow"];
                };
            };
        };
    };
    edit_images: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 visible ASCII characters. The same key with the same request gives the first answer again. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "multipart/form-data": Record<string, never>;
            };
        };
        responses: {
            /** @description Draw pictures from a picture with a saved workflow, and wait for them */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImagesView"];
                };
            };
        };
    };
    generate_images: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 visible ASCII characters. The same key with the same request gives the first answer again. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ImagesRequest"];
            };
        };
        responses: {
            /** @description Draw pictures with a saved workflow, and wait for them */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImagesView"];
                };
            };
        };
    };
    list_jobs: {
        parameters: {
            query?: {
                client?: string | null;
                /** @description `next` of the page before. */
                cursor?: number | null;
                limit?: number;
                /** @description Only the retries of this job. */
                retry_of?: string | null;
                /** @description Only these states; may be given several times. */
                state?: ("queued" | "running" | "done" | "failed" | "cancelled")[];
                workflow?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description List jobs, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobPage"];
                };
            };
        };
    };
    create_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 visible ASCII characters. The same key with the same request gives the first answer again. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JobRequest"];
            };
        };
        responses: {
            /** @description The job of the first time: the Idempotency-Key is known. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobView"];
                };
            };
            /** @description Accept a job */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobView"];
                };
            };
        };
    };
    read_job: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Read a job: its state, its nodes' states and times, its place in the queue, its outputs */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobView"];
                };
            };
        };
    };
    delete_job: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Forget a job that has ended. Its outputs stay in the gallery */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    cancel_job: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Cancel a job */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobView"];
                };
            };
        };
    };
    read_job_document: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Read the workflow document that the job runs: the frozen copy, named inputs set */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
        };
    };
    job_events: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the last event that was received; what came since is sent, or a new snapshot. */
                "Last-Event-ID"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Follow a job */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
        };
    };
    move_job: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MoveRequest"];
            };
        };
        responses: {
            /** @description Move a queued job before or after another of the same client, or change a job's priority */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobView"];
                };
            };
        };
    };
    read_nodes: {
        parameters: {
            query?: {
                limit?: number;
                /** @description The rows of this mapped node's elements instead of those of the nodes. */
                node?: string | null;
                offset?: number;
                state?: ("waiting" | "cached" | "running" | "done" | "failed" | "skipped" | "cancelled") | null;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Read the rows of a job's nodes in pages, or those of a mapped node's elements */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodePage"];
                };
            };
        };
    };
    retry_job: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1 to 255 visible ASCII characters. The same key with the same request gives the first answer again. */
                "Idempotency-Key"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RetryRequest"];
            };
        };
        responses: {
            /** @description The job of the first time: the Idempotency-Key is known. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobView"];
                };
            };
            /** @description Accept a new job from an ended one's frozen copy */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobView"];
                };
            };
        };
    };
    read_value: {
        parameters: {
            query?: {
                /** @description Of a mapped node: which execution, counted from 0. */
                element?: number | null;
                /** @description How a picture is shown; facts: its shape and range instead. */
                form?: "webp" | "png" | "facts";
                /** @description Which picture, where one value holds several, counted from 0. */
                index?: number;
            };
            header?: never;
            path: {
                id: string;
                node: string;
                port: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Look at what a port held: a picture as WebP or PNG, a text or number as JSON, tensors by shape, dtype and range */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "image/png": string;
                    "image/webp": string;
                };
            };
        };
    };
    read_limits: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Read the limits of this server */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Limits"];
                };
            };
        };
    };
    list_all_models: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description List the models that workflows can name */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModelList"];
                };
            };
        };
    };
    read_makers_model: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                maker: string;
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Read one model of a maker's folder */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModelView"];
                };
            };
        };
    };
    remove_makers_model: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                maker: string;
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Remove a model of a maker's folder, as above */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    read_model: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Read one model */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModelView"];
                };
            };
        };
    };
    remove_model: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Remove a model from the data folder for good */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    list_nodes: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag that is known: without a change the answer is 304. */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description List the node types with their inputs, outputs and JSON Schemas */
            200: {
                headers: {
                    /** @description The version. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodesView"];
                };
            };
        };
    };
    read_pack_node: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                pack: string;
                type: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Read one node type of a pack */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeTypeView"];
                };
            };
        };
    };
    read_node: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                type: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Read one built-in node type, by its id or a former one */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeTypeView"];
                };
            };
        };
    };
    read_openapi: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag that is known: without a change the answer is 304. */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description This interface as an OpenAPI 3.1 document */
            200: {
                headers: {
                    /** @description The version. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
        };
    };
    list_outputs: {
        parameters: {
            query?: {
                /** @description `next` of the page before: new outputs do not move what follows. */
                cursor?: string | null;
                job?: string | null;
                kind?: string | null;
                limit?: number;
                model?: string | null;
                /** @description So many that the filter accepts are passed over, after `cursor`. */
                offset?: number;
                starred?: boolean | null;
                /** @description A part of the prompt. */
                text?: string | null;
                /** @description Name of the workflow. */
                workflow?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description List what was saved, newest first. Only whole outputs are listed, and only these count for limit, offset and pages */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OutputPage"];
                };
            };
        };
    };
    read_output: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Read an output with its settings and the run that made it */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["server__api__routes__outputs__OutputView"];
                };
            };
        };
    };
    delete_output: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Delete an output: its file, what was noted of it, its thumbnails and its star */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    download_output: {
        parameters: {
            query?: {
                /** @description webm and gif need a video encoder, which this server may lack (501). */
                form?: "original" | "webm" | "gif";
                /** @description none: the same pixels, without workflow, settings and other notes. */
                metadata?: "all" | "none";
            };
            header?: {
                /** @description The ETag that is known: without a change the answer is 304. */
                "If-None-Match"?: string;
                /** @description The ETag (or date) for which the part is wanted; if it is another, the whole is sent. */
                "If-Range"?: string;
                /** @description One part: `bytes=0-99`, `bytes=100-`, `bytes=-100`. Other forms are ignored. */
                Range?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Download an output, or a part of it. Only raster pictures and videos are shown in place; all else is an attachment */
            200: {
                headers: {
                    /** @description The version. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "*/*": string;
                };
            };
            /** @description The part that Range asks for. */
            206: {
                headers: {
                    /** @description The version. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "*/*": string;
                };
            };
        };
    };
    star_output: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Mark an output with a star */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    unstar_output: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Take the star away */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    output_thumbnail: {
        parameters: {
            query?: {
                /** @description Pixels of the longer side, rounded up to 128, 256 or 512. */
                size?: number;
            };
            header?: {
                /** @description The ETag that is known: without a change the answer is 304. */
                "If-None-Match"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A small WebP of an output that is a picture */
            200: {
                headers: {
                    /** @description The version. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "image/webp": string;
                };
            };
        };
    };
    output_workflow: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Read the workflow that an output was made with, to load it again */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CarriedWorkflow"];
                };
            };
        };
    };
    read_queue: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Read the queue in numbers, and which jobs are next */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueView"];
                };
            };
        };
    };
    pause_queue: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Start no more jobs until `resume`, also after a restart; what runs goes on, and new jobs are accepted */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueView"];
                };
            };
        };
    };
    resume_queue: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Start jobs again */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueView"];
                };
            };
        };
    };
    read_server: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What this server is, and its limits */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServerView"];
                };
            };
        };
    };
    read_session: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Who one is: a client with the token, or a page with a session */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionView"];
                };
            };
        };
    };
    open_session: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SessionRequest"];
            };
        };
        responses: {
            /** @description Open a session with the token: sets a cookie for this browser */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionView"];
                };
            };
        };
    };
    close_session: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Close the session: the cookie is taken away and not taken again */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    list_settings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description List the settings, their values and where these come from */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SettingList"];
                };
            };
        };
    };
    read_preferences: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag that is known: without a change the answer is 304. */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Read the page's preferences; an empty object before anything was kept */
            200: {
                headers: {
                    /** @description The version. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
        };
    };
    save_preferences: {
        parameters: {
            query?: never;
            header?: {
                /** @description The version that is changed, as ETag gave it; "*" for any. */
                "If-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PreferencesBody"];
            };
        };
        responses: {
            /** @description Keep the page's preferences, the whole object. With If-Match only over that version */
            200: {
                headers: {
                    /** @description The version. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
        };
    };
    read_workflow_schema: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Read the JSON Schema of workflow documents */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
        };
    };
    list_workflows: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description List the saved workflows and the shipped templates */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowList"];
                };
            };
        };
    };
    read_workflow: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag that is known: without a change the answer is 304. */
                "If-None-Match"?: string;
            };
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Read a saved workflow's document */
            200: {
                headers: {
                    /** @description The version. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
        };
    };
    save_workflow: {
        parameters: {
            query?: never;
            header?: {
                /** @description The version that is changed, as ETag gave it; "*" for any. */
                "If-Match"?: string;
                /** @description `*`: create only, replace nothing. */
                "If-None-Match"?: string;
            };
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WorkflowBody"];
            };
        };
        responses: {
            /** @description Save a workflow under this name; what it replaces becomes a version */
            200: {
                headers: {
                    /** @description The version. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SavedView"];
                };
            };
        };
    };
    delete_workflow: {
        parameters: {
            query?: never;
            header?: {
                /** @description The version that is changed, as ETag gave it; "*" for any. */
                "If-Match"?: string;
            };
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Delete a saved workflow; its versions stay, so that restore brings it back. Jobs made from it go on */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    copy_workflow: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewName"];
            };
        };
        responses: {
            /** @description Copy a workflow, or a template, to a name that is free */
            200: {
                headers: {
                    /** @description The version. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SavedView"];
                };
            };
        };
    };
    download_workflow: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Download a saved workflow's file, whatever it holds */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
        };
    };
    rename_workflow: {
        parameters: {
            query?: never;
            header?: {
                /** @description The version that is changed, as ETag gave it; "*" for any. */
                "If-Match"?: string;
            };
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewName"];
            };
        };
        responses: {
            /** @description Give a workflow and its versions another name that is free */
            200: {
                headers: {
                    /** @description The version. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SavedView"];
                };
            };
        };
    };
    restore_version: {
        parameters: {
            query?: never;
            header?: {
                /** @description The version that is changed, as ETag gave it; "*" for any. */
                "If-Match"?: string;
            };
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RestoreRequest"];
            };
        };
        responses: {
            /** @description Make an earlier version the newest one. A deleted workflow comes back without If-Match */
            200: {
                headers: {
                    /** @description The version. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SavedView"];
                };
            };
        };
    };
    list_versions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description List the versions of a workflow, newest first: the current one and the last 50 it replaced; of a deleted one too */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VersionList"];
                };
            };
        };
    };
    read_version: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag that is known: without a change the answer is 304. */
                "If-None-Match"?: string;
            };
            path: {
                name: string;
                version: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Read one version's document */
            200: {
                headers: {
                    /** @description The version. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
        };
    };
    plan_workflow: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JobRequest"];
            };
        };
        responses: {
            /** @description Tell what a run would do: what is remembered, what runs and where, how long, how much memory. Draws no seeds */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanView"];
                };
            };
        };
    };
    validate_workflow: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ValidateRequest"];
            };
        };
        responses: {
            /** @description Check a workflow and tell every problem; runs nothing and needs no engine */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Validated"];
                };
            };
        };
    };
    why_node: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WhyRequest"];
            };
        };
        responses: {
            /** @description Tell why a node would run again, or why not */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WhyView"];
                };
            };
        };
    };
    open_socket: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Open the WebSocket */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/vnd.msgpack": string;
                };
            };
        };
    };
}
